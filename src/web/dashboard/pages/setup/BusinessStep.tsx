/** Step 1: the business that the gate's calls belong to. */
import type { JSX } from "preact"
import { useState } from "preact/hooks"
import type { Business } from "../../../../platform/http/dashboard/shapes.ts"
import { useErrors } from "../../../shared/parts/errors.ts"
import { Form } from "../../../shared/parts/form.tsx"
import { api } from "../../client.ts"
import { useAction } from "../../parts/action.ts"
import { Problem } from "../../parts/Problem.tsx"
import { NameField } from "../../parts/TextField.tsx"
import { Chooser, NEW } from "./Chooser.tsx"
import { StepActions } from "./step-parts.tsx"

export const BusinessStep = ({
  businesses,
  chosen,
  onDone,
}: {
  readonly businesses: ReadonlyArray<Business>
  readonly chosen: Business | undefined
  readonly onDone: (business: Business) => void
}): JSX.Element => {
  const usable = businesses.filter(({ disabled }) => !disabled)
  const [id, setId] = useState(chosen?.id ?? usable[0]?.id ?? NEW)
  const [name, setName] = useState("")
  const isNew = id === NEW
  const errors = useErrors<{ readonly name?: string }>(isNew && name.trim() === "" ? { name: "Enter a name." } : {})
  const { busy, failure, run } = useAction()
  const submit = (): void => {
    if (!errors.check()) return
    const existing = usable.find((business) => business.id === id)
    if (existing !== undefined) onDone(existing)
    else void run(api.businesses.create({ payload: { name: name.trim() } }), onDone)
  }
  return (
    <Form onSubmit={submit} errors={errors.reported}>
      <Chooser label="Business" newLabel="New business…" options={usable} chosen={id} onChoose={setId} />
      {isNew && (
        <NameField
          label="Business name"
          hint="A company or brand, such as “Bakery”."
          error={errors.of("name")}
          maxLength={256}
          value={name}
          onChange={setName}
        />
      )}
      <Problem of={failure} />
      <StepActions busy={busy} />
    </Form>
  )
}
