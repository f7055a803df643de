/** One webhook message: its payload, and what its attempts sent and got in answer. */
import type { JSX } from "preact"
import type { DeliveryAttempt, DeliveryDetail } from "../../../../platform/http/dashboard/shapes.ts"
import { api } from "../../client.ts"
import { useAction } from "../../parts/action.ts"
import { Copy, Id } from "../../parts/Copy.tsx"
import { useLoad } from "../../parts/load.ts"
import { notify } from "../../parts/notify.ts"
import { Pair, Pairs } from "../../parts/Pairs.tsx"
import { Problem } from "../../parts/Problem.tsx"
import { Show } from "../../parts/Show.tsx"
import { Ago, At } from "../../parts/Time.tsx"
import { href } from "../../router.ts"
import * as words from "../../words.ts"
import { type Names, useNames } from "../names.ts"
import { StateMark } from "./Deliveries.tsx"

const EVERY_MILLIS = 5_000

export const Delivery = ({ id }: { readonly id: string }): JSX.Element => {
  const loaded = useLoad(() => api.deliveries.read({ params: { id } }), id, EVERY_MILLIS)
  const names = useNames()
  const { busy, failure, run } = useAction()
  const resend = (): void =>
    void run(api.deliveries.sendAgain({ params: { id } }), () => {
      notify("Message resent.")
      loaded.reload()
    })
  return (
    <>
      <p>
        <a href={href("webhooks")}>All deliveries</a>
      </p>
      <div class="head">
        <h1 tabIndex={-1}>Webhook delivery</h1>
        {loaded.value !== undefined && loaded.value.state !== "delivered" && (
          <button type="button" class="primary" aria-disabled={busy} onClick={resend}>
            {busy ? "Sending…" : "Resend"}
          </button>
        )}
      </div>
      <Problem of={failure} />
      <Show of={loaded} what="the delivery">
        {(delivery) => (
          <>
            <Facts of={delivery} names={names} />
            <section class="part">
              <h2>Attempts</h2>
              {delivery.log.length === 0 && <p class="small">No attempts recorded.</p>}
              {delivery.log.length > 0 && delivery.attempts > delivery.log.length && (
                <p class="small">
                  {delivery.attempts} attempts in total. The last {delivery.log.length} are shown.
                </p>
              )}
              {delivery.log.map((attempt, index) => (
                <Attempt key={attempt.number} of={attempt} isLast={index === 0} />
              ))}
            </section>
            <section class="part">
              <div class="head">
                <h2>Payload</h2>
                <Copy text={delivery.body} what="the payload" />
              </div>
              <Code text={indented(delivery.body)} label="Payload" />
            </section>
          </>
        )}
      </Show>
    </>
  )
}

const Facts = ({ of, names }: { readonly of: DeliveryDetail; readonly names: Names }): JSX.Element => (
  <Pairs>
    <Pair name="State">
      <StateMark of={of} />
    </Pair>
    <Pair name="Last response">{words.begun(of.lastOutcome ?? "None yet")}</Pair>
    <Pair name="Campaign">{names.campaign(of.campaignId)}</Pair>
    <Pair name="Business">{names.business(of.businessId)}</Pair>
    <Pair name="Created">
      <At of={of.createdAt} />
    </Pair>
    <Pair name="Next attempt">{of.nextAttemptAt === null ? "None" : <Ago of={of.nextAttemptAt} />}</Pair>
    <Pair name="Message ID">
      <Id id={of.id} what="the message ID" />
    </Pair>
    <Pair name="Session ID">
      <Id id={of.sessionId} what="the session ID" />
    </Pair>
  </Pairs>
)

/** What the codes of failed connections mean (Node.js, “Common system errors”, and OpenSSL). */
const ERRORS: Readonly<Record<string, string>> = {
  ENOTFOUND: "The host name was not found",
  EAI_AGAIN: "The host name could not be looked up",
  ECONNREFUSED: "The connection was refused",
  ECONNRESET: "The connection was closed",
  ETIMEDOUT: "The connection timed out",
  EHOSTUNREACH: "The host can’t be reached",
  ENETUNREACH: "The network can’t be reached",
  CERT_HAS_EXPIRED: "The certificate has expired",
  DEPTH_ZERO_SELF_SIGNED_CERT: "The certificate is self-signed",
  ERR_TLS_CERT_ALTNAME_INVALID: "The certificate is for another host",
}

const reasonOf = (error: string): string => {
  const meaning = ERRORS[error]
  return meaning === undefined ? words.begun(error) : `${meaning} (${error})`
}

/** @param isLast it is shown whole; the others are one line until they are opened */
const Attempt = ({ of, isLast }: { readonly of: DeliveryAttempt; readonly isLast: boolean }): JSX.Element => {
  const isGood = of.status !== null && of.status >= 200 && of.status < 300
  return (
    <section class="card attempt" aria-label={`Attempt ${of.number}`}>
      <details open={isLast}>
        <summary>
          <h3>Attempt {of.number}</h3>{" "}
          <span class={isGood ? "mark on" : "mark bad"}>
            {of.status === null ? "No response" : `HTTP ${of.status}`}
          </span>{" "}
          {of.error !== null && <span class="error">{reasonOf(of.error)}</span>}{" "}
          <span class="small">
            <At of={of.at} />, {words.number(of.durationMillis)} ms
          </span>
        </summary>
        <p>
          POST <code>{of.url}</code>
        </p>
        <details>
          <summary>Request headers</summary>
          <Code
            text={of.headers.map(([name, value]) => `${name}: ${value}`).join("\n")}
            label={`Request headers of attempt ${of.number}`}
          />
        </details>
        {of.answer !== null && (
          <div class="part">
            <h4>Response</h4>
            {of.answer === "" ? (
              <p class="small">No body.</p>
            ) : (
              <Code text={of.answer} label={`Response to attempt ${of.number}`} />
            )}
            {of.truncated && <p class="small">The response was longer. Only its first 4 kB are shown.</p>}
          </div>
        )}
      </details>
    </section>
  )
}

/** A text as it is, which scrolls. */
const Code = ({ text, label }: { readonly text: string; readonly label: string }): JSX.Element => (
  // biome-ignore lint/a11y/noNoninteractiveTabindex: it scrolls, so the keyboard must reach it
  <section class="code" tabIndex={0} aria-label={label}>
    <pre>{text}</pre>
  </section>
)

/** JSON with line breaks; another text as it is. */
const indented = (text: string): string => {
  try {
    return JSON.stringify(JSON.parse(text), undefined, 2)
  } catch {
    return text
  }
}
