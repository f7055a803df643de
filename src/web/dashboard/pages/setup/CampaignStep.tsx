/** Step 2: the web campaign, whose session-ended webhook goes to the gate with a new token. */
import type { JSX } from "preact"
import { useState } from "preact/hooks"
import type { Business, Campaign, CampaignInput } from "../../../../platform/http/dashboard/shapes.ts"
import { useErrors } from "../../../shared/parts/errors.ts"
import { Choice, Form, Group } from "../../../shared/parts/form.tsx"
import { api } from "../../client.ts"
import { AddressField } from "../../parts/AddressField.tsx"
import { useAction } from "../../parts/action.ts"
import { Problem } from "../../parts/Problem.tsx"
import { NameField } from "../../parts/TextField.tsx"
import { isAuthenticated, newToken, TOKEN_HEADER } from "../businesses/campaign-draft.ts"
import { Chooser, NEW } from "./Chooser.tsx"
import { originOf, webhookUrl } from "./gate-settings.ts"
import { StepActions } from "./step-parts.tsx"

/** The webhook of a gate that is reached at this origin. */
const gateWebhook = (gate: string, token: string): NonNullable<CampaignInput["webhook"]> => ({
  url: webhookUrl(gate),
  headers: [{ name: TOKEN_HEADER, value: token }],
  signing: { type: "none" },
})

export const CampaignStep = ({
  business,
  chosen,
  gate: gateBefore,
  onDone,
}: {
  readonly business: Business
  readonly chosen: Campaign | undefined
  readonly gate: string
  /** `token` is the new value of the webhook's header; absent when the webhook was not set */
  readonly onDone: (done: { readonly campaign: Campaign; readonly gate: string; readonly token?: string }) => void
}): JSX.Element => {
  const [id, setId] = useState(chosen?.id ?? business.campaigns[0]?.id ?? NEW)
  const existing = business.campaigns.find((campaign) => campaign.id === id)
  const working = existing?.webhook != null && isAuthenticated(existing.webhook)
  const [name, setName] = useState("")
  const [gate, setGate] = useState(gateBefore)
  const [hook, setHook] = useState<"set" | "keep">("keep")
  const sets = !working || hook === "set"
  const origin = originOf(gate)
  const errors = useErrors<{ readonly name?: string; readonly gate?: string }>({
    ...(existing === undefined && name.trim() === "" ? { name: "Enter a name." } : {}),
    ...(sets && origin === undefined ? { gate: "Enter the address, such as https://gate.example." } : {}),
  })
  const { busy, failure, run } = useAction()

  const save = (webhook: CampaignInput["webhook"], done: (campaign: Campaign) => void): void => {
    const businessId = business.id
    void run(
      existing === undefined
        ? api.campaigns.create({ params: { businessId }, payload: { name: name.trim(), webhook } })
        : api.campaigns.edit({ params: { businessId, id: existing.id }, payload: { name: existing.name, webhook } }),
      done,
    )
  }
  const submit = (): void => {
    if (!errors.check()) return
    if (existing !== undefined && !sets) {
      onDone({ campaign: existing, gate: originOf(existing.webhook?.url ?? "") ?? "" })
    } else if (origin !== undefined) {
      const token = newToken()
      save(gateWebhook(origin, token), (campaign) => onDone({ campaign, gate: origin, token }))
    }
  }
  const later = (): void => {
    if (existing !== undefined) onDone({ campaign: existing, gate: "" })
    else if (name.trim() === "") errors.check()
    else save(null, (campaign) => onDone({ campaign, gate: "" }))
  }

  return (
    <Form onSubmit={submit} errors={errors.reported}>
      <Chooser
        label="Web campaign"
        newLabel="New web campaign…"
        options={business.campaigns}
        chosen={id}
        onChoose={setId}
      />
      {existing === undefined && (
        <NameField
          label="Campaign name"
          hint="What visitors call about, such as “Orders”."
          error={errors.of("name")}
          maxLength={256}
          value={name}
          onChange={setName}
        />
      )}
      {working && (
        <Group label="Session-ended webhook">
          <Choice
            type="radio"
            name="hook"
            label="Keep the current webhook"
            hint={existing?.webhook?.url}
            checked={hook === "keep"}
            onChange={() => setHook("keep")}
          />
          <Choice
            type="radio"
            name="hook"
            label="Send it to the gate below, with a new token"
            hint="A gate that uses the current token stops receiving it."
            checked={hook === "set"}
            onChange={() => setHook("set")}
          />
        </Group>
      )}
      {sets && (
        <AddressField
          label="Gate address"
          hint={
            origin === undefined
              ? "The platform tells the gate here when a call has ended."
              : `Session-ended webhooks go to ${webhookUrl(origin)}.`
          }
          error={errors.of("gate")}
          placeholder="https://gate.example"
          value={gate}
          onChange={setGate}
        />
      )}
      <Problem of={failure} />
      <StepActions busy={busy}>
        {sets && (
          <button type="button" aria-disabled={busy} onClick={later}>
            Set the webhook later
          </button>
        )}
      </StepActions>
    </Form>
  )
}
