/** Asks before an action. The dialog is the browser's own: it keeps the focus, and Escape answers no. */
import { find, say } from "./dom.ts"
import type { Question } from "./words.ts"

const DANGER = ["Remove", "End lease"]

/** Resolves to whether the operator confirmed. */
export const ask = ({ confirm, text, title }: Question): Promise<boolean> => {
  const dialog = find<HTMLDialogElement>('[data-part="ask"]')
  if (dialog.open) return Promise.resolve(false)
  say("ask-title", title)
  say("ask-text", text)
  say("ask-confirm", confirm)
  dialog.classList.toggle("danger", DANGER.includes(confirm))
  dialog.returnValue = ""
  dialog.showModal()
  // the answer that does nothing is the one at hand
  find('[data-action="cancel"]').focus()
  return new Promise((resolve) => {
    dialog.addEventListener("close", () => resolve(dialog.returnValue === "confirm"), { once: true })
  })
}

/** Wires the dialog's buttons, once. */
export const prepareAsk = (): void => {
  const dialog = find<HTMLDialogElement>('[data-part="ask"]')
  find('[data-action="cancel"]').addEventListener("click", () => dialog.close("cancel"))
  find('[data-action="confirm"]').addEventListener("click", () => dialog.close("confirm"))
}
