/** Adds or renames a business. */
import type { JSX } from "preact"
import { useState } from "preact/hooks"
import type { Business } from "../../../../platform/http/dashboard/shapes.ts"
import { Dialog } from "../../../shared/parts/Dialog.tsx"
import { useErrors } from "../../../shared/parts/errors.ts"
import { Form } from "../../../shared/parts/form.tsx"
import { api } from "../../client.ts"
import { useAction } from "../../parts/action.ts"
import { DialogActions } from "../../parts/DialogActions.tsx"
import { Problem } from "../../parts/Problem.tsx"
import { NameField } from "../../parts/TextField.tsx"

export const BusinessForm = ({
  of,
  onClose,
  onDone,
}: {
  /** undefined for a new one */
  readonly of: Business | undefined
  readonly onClose: () => void
  readonly onDone: (said: string) => void
}): JSX.Element => {
  const [name, setName] = useState(of?.name ?? "")
  const errors = useErrors<{ readonly name?: string }>(name.trim() === "" ? { name: "Enter a name." } : {})
  const { busy, failure, run } = useAction()
  const submit = (): void => {
    const payload = { name: name.trim() }
    if (!errors.check()) return
    const request =
      of === undefined ? api.businesses.create({ payload }) : api.businesses.rename({ params: { id: of.id }, payload })
    void run(request, () => onDone(of === undefined ? `${payload.name} added.` : `Renamed to ${payload.name}.`))
  }
  return (
    <Dialog title={of === undefined ? "Add business" : "Rename business"} onClose={onClose}>
      <Form onSubmit={submit} errors={errors.reported}>
        <NameField error={errors.of("name")} value={name} onChange={setName} />
        <Problem of={failure} />
        <DialogActions
          label={of === undefined ? "Add business" : "Rename"}
          busyLabel="Saving…"
          busy={busy}
          onClose={onClose}
        />
      </Form>
    </Dialog>
  )
}
