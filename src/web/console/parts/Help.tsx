/** The sheet of keyboard shortcuts. */
import type { JSX } from "preact"
import { Dialog } from "../../shared/parts/Dialog.tsx"
import { Choice } from "../../shared/parts/form.tsx"
import { type Shortcut, setShortcutsOn, shortcutsOn } from "../shortcuts.ts"

export const Help = ({
  shortcuts,
  onClose,
}: {
  readonly shortcuts: ReadonlyArray<Shortcut>
  readonly onClose: () => void
}): JSX.Element => (
  <Dialog title="Keyboard shortcuts" onClose={onClose}>
    <dl class="shortcuts">
      {shortcuts.map(({ does, key }) => (
        <div key={key}>
          <dt>
            <kbd>{key}</kbd>
          </dt>
          <dd>{does}</dd>
        </div>
      ))}
    </dl>
    <p class="soft">Every action asks for confirmation first.</p>
    <Choice
      type="checkbox"
      label="Use shortcuts in this browser"
      checked={shortcutsOn.value}
      onChange={({ currentTarget }) => setShortcutsOn(currentTarget.checked)}
    />
    <div class="actions">
      <button type="button" onClick={onClose}>
        Close
      </button>
    </div>
  </Dialog>
)
