/** Shows a key's secret, once. It is not stored and is gone when the dialog closes. */
import type { JSX } from "preact"
import { useId, useState } from "preact/hooks"
import type { CreatedApiKey } from "../../../../platform/keys/ApiKey.ts"
import { Dialog } from "../../../shared/parts/Dialog.tsx"
import { Copy } from "../../parts/Copy.tsx"

export const KeySecret = ({
  created: { key, secret },
  onClose,
}: {
  readonly created: CreatedApiKey
  readonly onClose: () => void
}): JSX.Element => {
  const [copied, setCopied] = useState(false)
  const id = useId()
  return (
    <Dialog title={`Secret for “${key.name}”`} onClose={onClose} keep={!copied}>
      <p class="warning">
        <strong>You won’t see this secret again.</strong> Copy it now and store it where your server can read it. If you
        lose it, rotate the key to get a new one.
      </p>
      <div class="field">
        <label for={id}>Secret</label>
        <input
          id={id}
          class="secret"
          readOnly
          spellcheck={false}
          autoComplete="off"
          value={secret}
          onFocus={(event) => event.currentTarget.select()}
        />
      </div>
      <p class="small">
        Send it as <code>Authorization: Token &lt;secret&gt;</code>. Never put it in a web page or an app.
      </p>
      <div class="actions">
        <Copy look="alone" text={secret} what="the secret" onCopied={() => setCopied(true)} />
        <button type="button" onClick={onClose}>
          {copied ? "Done" : "I’ve saved it"}
        </button>
      </div>
    </Dialog>
  )
}
