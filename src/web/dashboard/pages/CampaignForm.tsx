/** Adds or edits a web campaign and its session-ended webhook. Stored secrets are kept unless new ones are entered. */
import type { JSX } from "preact"
import { useState } from "preact/hooks"
import type { Business, Campaign } from "../../../platform/http/dashboard/shapes.ts"
import { Dialog } from "../../shared/parts/Dialog.tsx"
import { Choice, Field, Form, Group } from "../../shared/parts/form.tsx"
import { api } from "../client.ts"
import { useAction } from "../parts/action.ts"
import { Copy } from "../parts/Copy.tsx"
import { Problem } from "../parts/Problem.tsx"
import { type Draft, draftOf, type Errors, newSecret, payloadOf, problemsOf } from "./campaign-draft.ts"
import { HeaderRows } from "./HeaderRows.tsx"

export const CampaignForm = ({
  business,
  of,
  onClose,
  onDone,
}: {
  readonly business: Business
  /** undefined for a new one */
  readonly of: Campaign | undefined
  readonly onClose: () => void
  readonly onDone: (said: string) => void
}): JSX.Element => {
  const [draft, setDraft] = useState<Draft>(() => draftOf(of))
  const [errors, setErrors] = useState<Errors>({})
  const { busy, failure, run } = useAction()
  const change = (some: Partial<Draft>): void => setDraft((before) => ({ ...before, ...some }))

  const submit = (): void => {
    const found = problemsOf(draft)
    setErrors(found)
    if (Object.keys(found).length > 0) return
    const [businessId, payload] = [business.id, payloadOf(draft)]
    const request =
      of === undefined
        ? api.campaigns.create({ params: { businessId }, payload })
        : api.campaigns.edit({ params: { businessId, id: of.id }, payload })
    void run(request, ({ name }) => onDone(of === undefined ? `${name} is added.` : `${name} is saved.`))
  }

  return (
    <Dialog title={of === undefined ? `Add web campaign to ${business.name}` : "Edit web campaign"} onClose={onClose}>
      <Form onSubmit={submit} errors={errors}>
        <Field label="Name" error={errors.name}>
          {(control) => (
            <input
              {...control}
              required
              maxLength={256}
              autoComplete="off"
              value={draft.name}
              onInput={({ currentTarget }) => change({ name: currentTarget.value })}
            />
          )}
        </Field>

        <Field
          label="Longest call, in minutes"
          hint="A call ends by itself then. A gate's Queue.MaxCallMinutes should be the same or longer."
          error={errors.minutes}
        >
          {(control) => (
            <input
              {...control}
              required
              inputMode="numeric"
              maxLength={4}
              autoComplete="off"
              value={draft.minutes}
              onInput={({ currentTarget }) => change({ minutes: currentTarget.value })}
            />
          )}
        </Field>

        <Group label="Session-ended webhook">
          <Choice
            type="checkbox"
            label="Tell a server when a session has ended"
            hint="A gate needs this to know that a slot is free."
            checked={draft.hooked}
            onChange={({ currentTarget }) => change({ hooked: currentTarget.checked })}
          />
        </Group>

        {draft.hooked && (
          <>
            <Field label="Address" hint="Such as https://gate.example/api/webhook/session-ended" error={errors.url}>
              {(control) => (
                <input
                  {...control}
                  type="url"
                  inputMode="url"
                  autoComplete="off"
                  spellcheck={false}
                  value={draft.url}
                  onInput={({ currentTarget }) => change({ url: currentTarget.value })}
                />
              )}
            </Field>
            <HeaderRows rows={draft.headers} error={errors.headers} onChange={(headers) => change({ headers })} />
            <Group label="Signature (Standard Webhooks)" error={errors.secret}>
              {of?.webhook?.signed === true && (
                <Choice
                  type="radio"
                  name="signing"
                  label="Keep the stored secret"
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
                    hint="Set the same in the server that listens. It is not shown again once saved."
                  >
                    {(control) => (
                      <input
                        {...control}
                        class="secret"
                        autoComplete="off"
                        spellcheck={false}
                        aria-invalid={errors.secret !== undefined}
                        value={draft.secret}
                        onInput={({ currentTarget }) => change({ secret: currentTarget.value })}
                      />
                    )}
                  </Field>
                  <div class="buttons">
                    <Copy text={draft.secret} what="the signing secret" />
                    <button type="button" class="small-button" onClick={() => change({ secret: newSecret() })}>
                      Make another
                    </button>
                  </div>
                </div>
              )}
              <Choice
                type="radio"
                name="signing"
                label="Do not sign"
                checked={draft.signing === "none"}
                onChange={() => change({ signing: "none" })}
              />
            </Group>
          </>
        )}

        <Problem of={failure} />
        <div class="actions">
          <button type="submit" class="primary" aria-disabled={busy}>
            {busy ? "Saving …" : of === undefined ? "Add web campaign" : "Save"}
          </button>
          <button type="button" onClick={onClose}>
            Cancel
          </button>
        </div>
      </Form>
    </Dialog>
  )
}
