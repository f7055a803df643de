/** The dashboard's page: an answer to who is signed in, then the part of the platform that the address names. */
import { render } from "preact"
import { App } from "./App.tsx"
import { watchFocus } from "./parts/focus.ts"

const root = document.querySelector("#app")
if (root === null) throw new Error("the page has no #app")
watchFocus()
render(<App />, root)
