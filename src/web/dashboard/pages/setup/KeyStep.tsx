/** Step 3: the gate's API key, restricted to the business and allowed only to start calls. */
import type { JSX } from "preact"
import { useState } from "preact/hooks"
import type { Business } from "../../../../platform/http/dashboard/shapes.ts"
import type { ApiKey, CreatedApiKey } from "../../../../platform/keys/ApiKey.ts"
import { useErrors } from "../../../shared/parts/errors.ts"
import { Form } from "../../../shared/parts/form.tsx"
import { api } from "../../client.ts"
import { useAction } from "../../parts/action.ts"
import { Problem } from "../../parts/Problem.tsx"
import { NameField } from "../../parts/TextField.tsx"
import { DEFAULT_EXPIRY, expiresAt } from "../keys/expiry.ts"
import { Chooser, NEW } from "./Chooser.tsx"
import { StepActions } from "./step-parts.tsx"

/** Whether a gate of this business can use the key. */
export const suits = ({ expiresAt, permissions, revokedAt, scope }: ApiKey, businessId: string, now: number): boolean =>
  revokedAt === null &&
  (expiresAt === null || expiresAt > now) &&
  permissions.includes("start") &&
  (scope.type === "Unrestricted" || scope.businessIds.includes(businessId))

/** Whether the key can do more than start calls. */
const isBroad = ({ permissions, userManagement }: ApiKey): boolean =>
  userManagement || permissions.some((permission) => permission !== "start")

export const KeyStep = ({
  business,
  keys,
  chosen,
  onChosen,
  onCreated,
}: {
  readonly business: Business
  /** those that suit the business */
  readonly keys: ReadonlyArray<ApiKey>
  readonly chosen: ApiKey | undefined
  readonly onChosen: (key: ApiKey) => void
  readonly onCreated: (created: CreatedApiKey) => void
}): JSX.Element => {
  const [id, setId] = useState(chosen?.id ?? NEW)
  const [name, setName] = useState(`Gate for ${business.name}`.slice(0, 100))
  const isNew = id === NEW
  const existing = keys.find((key) => key.id === id)
  const errors = useErrors<{ readonly name?: string }>(isNew && name.trim() === "" ? { name: "Enter a name." } : {})
  const { busy, failure, run } = useAction()
  const submit = (): void => {
    if (!errors.check()) return
    if (existing !== undefined) {
      onChosen(existing)
      return
    }
    const payload = {
      name: name.trim(),
      scope: { type: "Restricted", businessIds: [business.id] },
      permissions: ["start"],
      userManagement: false,
      expiresAt: expiresAt(DEFAULT_EXPIRY, "", Date.now()) ?? null,
      allowedAddresses: [],
    } as const
    void run(api.keys.create({ payload }), onCreated)
  }
  return (
    <Form onSubmit={submit} errors={errors.reported}>
      <Chooser
        label="API key"
        newLabel="New API key…"
        hint={
          existing !== undefined && isBroad(existing)
            ? "This key can do more than a gate needs. A new key that can only start calls is safer."
            : undefined
        }
        options={keys.map((key) => ({ id: key.id, name: `${key.name} (${key.display})` }))}
        chosen={id}
        onChoose={setId}
      />
      {isNew && (
        <NameField
          label="Key name"
          hint={`The key can access only ${business.name}, and can only start calls. It expires in 1 year, unless you change that under API keys.`}
          error={errors.of("name")}
          maxLength={100}
          value={name}
          onChange={setName}
        />
      )}
      <Problem of={failure} />
      <StepActions busy={busy} label={isNew ? "Create key" : "Continue"} busyLabel="Creating…" />
    </Form>
  )
}
