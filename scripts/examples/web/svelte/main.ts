/** The widget in Svelte 5. */
import { mount } from "svelte"
import Support from "./Support.svelte"

const target = document.querySelector("#app")
if (target !== null) mount(Support, { target })
