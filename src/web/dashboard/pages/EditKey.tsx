/** Changes the permissions of an existing key. Its secret stays the same. */
import type { JSX } from "preact"
import { useState } from "preact/hooks"
import type { ApiKey } from "../../../platform/http/dashboard/shapes.ts"
import { Dialog } from "../../shared/parts/Dialog.tsx"
import { Form } from "../../shared/parts/form.tsx"
import { api } from "../client.ts"
import { useAction } from "../parts/action.ts"
import { Problem } from "../parts/Problem.tsx"
import { NONE_CHOSEN, Permissions } from "./Permissions.tsx"

export const EditKey = ({
  of,
  onClose,
  onDone,
}: {
  readonly of: ApiKey
  readonly onClose: () => void
  readonly onDone: (key: ApiKey) => void
}): JSX.Element => {
  const [chosen, setChosen] = useState(of.permissions)
  const [errors, setErrors] = useState<{ readonly permissions?: string }>({})
  const { busy, failure, run } = useAction()
  const submit = (): void => {
    setErrors(chosen.length === 0 ? { permissions: NONE_CHOSEN } : {})
    if (chosen.length === 0) return
    void run(api.keys.change({ params: { id: of.id }, payload: { permissions: chosen } }), onDone)
  }
  return (
    <Dialog title={`Permissions of “${of.name}”`} onClose={onClose}>
      <Form onSubmit={submit} errors={errors}>
        <p>The secret stays the same. The change is felt everywhere within 30 seconds.</p>
        <Permissions chosen={chosen} error={errors.permissions} onChange={setChosen} />
        <Problem of={failure} />
        <div class="actions">
          <button type="submit" class="primary" aria-disabled={busy}>
            {busy ? "Saving …" : "Save"}
          </button>
          <button type="button" onClick={onClose}>
            Cancel
          </button>
        </div>
      </Form>
    </Dialog>
  )
}
