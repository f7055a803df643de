/** The operator's console. */
import { render } from "preact"
import { watchFocus } from "../shared/parts/focus.ts"
import { App } from "./App.tsx"

const root = document.querySelector("#app")
if (root === null) throw new Error("the page has no #app")
watchFocus()
render(<App />, root)
