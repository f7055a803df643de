/** Step 4: the gate's settings, to paste. A secret that this page no longer has is replaced by a new one on request. */
import type { JSX } from "preact"
import { useState } from "preact/hooks"
import type { Business, Campaign, Region } from "../../../../platform/http/dashboard/shapes.ts"
import type { ApiKey, CreatedApiKey } from "../../../../platform/keys/ApiKey.ts"
import { useErrors } from "../../../shared/parts/errors.ts"
import { Choice, Field, Form, Group } from "../../../shared/parts/form.tsx"
import { api } from "../../client.ts"
import { AddressField } from "../../parts/AddressField.tsx"
import { useAction } from "../../parts/action.ts"
import { Copy } from "../../parts/Copy.tsx"
import { Problem } from "../../parts/Problem.tsx"
import { newToken, withToken } from "../businesses/campaign-draft.ts"
import { environment, originOf, settingsFile } from "./gate-settings.ts"

/** How long the previous secret still works when a key gets a new one here (ms). */
const OVERLAP_MILLIS = 24 * 3_600_000

export const SettingsStep = ({
  business,
  campaign,
  apiKey,
  regions,
  slots,
  secret,
  token,
  regionId,
  site: siteBefore,
  gate,
  onSecret,
  onToken,
  onDone,
}: {
  readonly business: Business
  readonly campaign: Campaign
  readonly apiKey: ApiKey
  readonly regions: ReadonlyArray<Region>
  readonly slots: number
  readonly secret: string | undefined
  readonly token: string | undefined
  readonly regionId: string
  readonly site: string
  /** the origin that the gate is reached at; empty while it is unknown */
  readonly gate: string
  readonly onSecret: (created: CreatedApiKey) => void
  readonly onToken: (campaign: Campaign, value: string) => void
  readonly onDone: (done: { readonly regionId: string; readonly site: string }) => void
}): JSX.Element => {
  const [region, setRegion] = useState(regionId)
  const [site, setSite] = useState(siteBefore)
  const [form, setForm] = useState<"file" | "environment">("file")
  const { busy, failure, run } = useAction()
  const origin = originOf(site)
  const errors = useErrors<{ readonly site?: string }>(
    site.trim() !== "" && origin === undefined ? { site: "Enter an address, such as https://shop.example." } : {},
  )
  const input = {
    secret,
    webhookToken: token,
    baseUrl: `${location.origin}/api/v1/`,
    businessId: business.id,
    webCampaignId: campaign.id,
    regionId: region,
    slots,
    site: site.trim() === "" ? "" : (origin ?? ""),
    gate,
  }
  const text = form === "file" ? settingsFile(input) : environment(input)

  const renewSecret = (): void => {
    const previousUntil = Date.now() + OVERLAP_MILLIS
    void run(api.keys.rotate({ params: { id: apiKey.id }, payload: { previousUntil } }), onSecret)
  }
  const renewToken = (): void => {
    const value = newToken()
    if (campaign.webhook === null) return
    const payload = { name: campaign.name, webhook: withToken(campaign.webhook, value) }
    void run(api.campaigns.edit({ params: { businessId: business.id, id: campaign.id }, payload }), (changed) =>
      onToken(changed, value),
    )
  }

  return (
    <Form
      errors={errors.reported}
      onSubmit={() => {
        if (errors.check()) onDone({ regionId: region, site: input.site })
      }}
    >
      {secret === undefined && (
        <div class="notice part">
          <p>The secret of {apiKey.name} was shown when it was created. Enter it yourself, or get a new one.</p>
          <div class="buttons">
            <button type="button" class="small-button" aria-disabled={busy} onClick={renewSecret}>
              Get a new secret
            </button>
          </div>
          <p class="small">The current secret still works for 24 hours.</p>
        </div>
      )}
      {token === undefined && campaign.webhook !== null && (
        <div class="notice part">
          <p>The webhook’s token isn’t shown again. Enter it yourself, or set a new one.</p>
          <div class="buttons">
            <button type="button" class="small-button" aria-disabled={busy} onClick={renewToken}>
              Set a new token
            </button>
          </div>
          <p class="small">A gate with the current token rejects webhooks until it gets the new one.</p>
        </div>
      )}
      {campaign.webhook === null && (
        <p class="notice">
          The campaign has no webhook to a gate yet. Go back to “Web campaign” when you know the gate’s address.
        </p>
      )}
      <Problem of={failure} />
      {regions.length > 1 && (
        <Field label="Region">
          {(control) => (
            <select {...control} value={region} onChange={({ currentTarget }) => setRegion(currentTarget.value)}>
              {regions.map(({ id, name }) => (
                <option key={id} value={id}>
                  {name}
                </option>
              ))}
            </select>
          )}
        </Field>
      )}
      <AddressField
        label="Website (optional)"
        hint="Where the widget is shown, unless the gate serves that page itself."
        error={errors.of("site")}
        placeholder="https://shop.example"
        value={site}
        onChange={setSite}
      />
      <Group label="Format">
        <Choice
          type="radio"
          name="format"
          label="Settings file (settings.json)"
          checked={form === "file"}
          onChange={() => setForm("file")}
        />
        <Choice
          type="radio"
          name="format"
          label="Environment variables"
          checked={form === "environment"}
          onChange={() => setForm("environment")}
        />
      </Group>
      <div class="part">
        <section class="code" aria-label="Gate settings">
          <pre>{text}</pre>
        </section>
        <div class="buttons">
          <Copy look="alone" text={text} what="the settings" />
        </div>
        <p class="small">
          They contain secrets: keep them on the gate’s server. The memory store is for one gate process; several need
          Redis. Change the platform’s address if the gate reaches it at another one.
        </p>
      </div>
      <div class="actions">
        <button type="submit">Continue to the check</button>
      </div>
    </Form>
  )
}
