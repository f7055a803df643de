/** Adds or edits a web campaign and its session-ended webhook. Stored secrets are kept unless new ones are entered. */
import type { JSX } from "preact"
import { useState } from "preact/hooks"
import type { Business, Campaign } from "../../../../platform/http/dashboard/shapes.ts"
import { Dialog } from "../../../shared/parts/Dialog.tsx"
import { useErrors } from "../../../shared/parts/errors.ts"
import { Choice, Field, Form, Group } from "../../../shared/parts/form.tsx"
import { api } from "../../client.ts"
import { useAction } from "../../parts/action.ts"
import { Copy } from "../../parts/Copy.tsx"
import { DialogActions } from "../../parts/DialogActions.tsx"
import { Problem } from "../../parts/Problem.tsx"
import { NameField, TextField } from "../../parts/TextField.tsx"
import {
  addToken,
  type Draft,
  draftIsAuthenticated,
  draftOf,
  type Errors,
  newSecret,
  payloadOf,
  problemsOf,
  typedToken,
} from "./campaign-draft.ts"
import { HeaderRows } from "./HeaderRows.tsx"

export const CampaignForm = ({
  business,
  of,
  withToken,
  onClose,
  onDone,
}: {
  readonly business: Business
  /** undefined for a new one */
  readonly of: Campaign | undefined
  /** begins with a new token for the webhook's header */
  readonly withToken: boolean
  readonly onClose: () => void
  readonly onDone: (said: string) => void
}): JSX.Element => {
  const [draft, setDraft] = useState<Draft>(() => (withToken ? addToken(draftOf(of)) : draftOf(of)))
  const errors = useErrors<Errors>(problemsOf(draft))
  const { busy, failure, run } = useAction()
  const token = typedToken(draft)
  const change = (some: Partial<Draft>): void => setDraft((before) => ({ ...before, ...some }))

  const submit = (): void => {
    if (!errors.check()) return
    const [businessId, payload] = [business.id, payloadOf(draft)]
    const request =
      of === undefined
        ? api.campaigns.create({ params: { businessId }, payload })
        : api.campaigns.edit({ params: { businessId, id: of.id }, payload })
    void run(request, ({ name }) => onDone(of === undefined ? `${name} added.` : `${name} saved.`))
  }

  return (
    <Dialog title={of === undefined ? `Add web campaign to ${business.name}` : "Edit web campaign"} onClose={onClose}>
      <Form onSubmit={submit} errors={errors.reported}>
        <NameField error={errors.of("name")} value={draft.name} onChange={(name) => change({ name })} />

        <TextField
          label="Maximum call length (minutes)"
          hint="Calls end automatically at this limit. Set the gate’s Queue.MaxCallMinutes to the same value or higher."
          error={errors.of("minutes")}
          required
          inputMode="numeric"
          maxLength={4}
          value={draft.minutes}
          onChange={(minutes) => change({ minutes })}
        />

        <Group label="Session-ended webhook">
          <Choice
            type="checkbox"
            label="Notify a server when a session ends"
            hint="A gate needs this to know when a slot is free."
            checked={draft.hooked}
            onChange={({ currentTarget }) => change({ hooked: currentTarget.checked })}
          />
        </Group>

        {draft.hooked && (
          <>
            <TextField
              label="Endpoint URL"
              hint="For example, https://gate.example/api/webhook/session-ended"
              error={errors.of("url")}
              inputMode="url"
              value={draft.url}
              onChange={(url) => change({ url })}
            />
            {!draftIsAuthenticated(draft) && (
              <div class="warning part">
                <p>
                  <strong>A gate rejects this webhook:</strong> it has neither a token nor a signature.
                </p>
                <div class="buttons">
                  <button type="button" class="small-button" onClick={() => setDraft(addToken)}>
                    Add X-Api-Token with a new token
                  </button>
                </div>
              </div>
            )}
            {token !== undefined && (
              <p class="notice">
                Set the gate’s <code>Security.WebhookApiToken</code> to the same token. It won’t be shown again after
                you save. <Copy text={token} what="the webhook token" />
              </p>
            )}
            <HeaderRows rows={draft.headers} error={errors.of("headers")} onChange={(headers) => change({ headers })} />
            <Group label="Signature (Standard Webhooks)" error={errors.of("secret")}>
              {of?.webhook?.signed === true && (
                <Choice
                  type="radio"
                  name="signing"
                  label="Keep the current secret"
                  checked={draft.signing === "keep"}
                  onChange={() => change({ signing: "keep" })}
                />
              )}
              <Choice
                type="radio"
                name="signing"
                label={of?.webhook?.signed === true ? "Replace the secret" : "Sign with a secret"}
                checked={draft.signing === "set"}
                onChange={() => change({ signing: "set", secret: draft.secret || newSecret() })}
              />
              {draft.signing === "set" && (
                <div class="nested">
                  <Field
                    label="Secret"
                    hint="Set the same secret on the receiving server. It won’t be shown again after you save."
                  >
                    {(control) => (
                      <input
                        {...control}
                        class="secret"
                        autoComplete="off"
                        spellcheck={false}
                        aria-invalid={errors.of("secret") !== undefined}
                        value={draft.secret}
                        onInput={({ currentTarget }) => change({ secret: currentTarget.value })}
                      />
                    )}
                  </Field>
                  <div class="buttons">
                    <Copy text={draft.secret} what="the signing secret" />
                    <button type="button" class="small-button" onClick={() => change({ secret: newSecret() })}>
                      Generate another
                    </button>
                  </div>
                </div>
              )}
              <Choice
                type="radio"
                name="signing"
                label="Don’t sign"
                checked={draft.signing === "none"}
                onChange={() => change({ signing: "none" })}
              />
            </Group>
          </>
        )}

        <Problem of={failure} />
        <DialogActions
          label={of === undefined ? "Add web campaign" : "Save"}
          busyLabel="Saving…"
          busy={busy}
          onClose={onClose}
        />
      </Form>
    </Dialog>
  )
}
