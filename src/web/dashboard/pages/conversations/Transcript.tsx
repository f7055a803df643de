/** The transcript of a conversation, updated while it runs. */
import type { JSX } from "preact"
import { api } from "../../client.ts"
import { Id } from "../../parts/Copy.tsx"
import { useLoad } from "../../parts/load.ts"
import { Pair, Pairs } from "../../parts/Pairs.tsx"
import { Show } from "../../parts/Show.tsx"
import { At } from "../../parts/Time.tsx"
import { href } from "../../router.ts"
import * as words from "../../words.ts"
import { useNames } from "../names.ts"
import { kindOf } from "./Conversations.tsx"

const EVERY_MILLIS = 5_000

export const Transcript = ({ businessId, id }: { readonly businessId: string; readonly id: string }): JSX.Element => {
  const loaded = useLoad(
    () => api.conversations.read({ params: { businessId, id } }),
    id,
    ({ endedAt }) => (endedAt === null ? EVERY_MILLIS : undefined),
  )
  const names = useNames()
  return (
    <>
      <p>
        <a href={href("conversations")}>All conversations</a>
      </p>
      <h1 tabIndex={-1}>Conversation</h1>
      <Show of={loaded} what="the conversation">
        {({ clientIdentifier, endedAt, kind, startedAt, turns }) => (
          <>
            <Pairs>
              <Pair name="Business">{names.business(businessId)}</Pair>
              <Pair name="Type">{kindOf(kind)}</Pair>
              <Pair name="Caller">{clientIdentifier ?? "Unknown"}</Pair>
              <Pair name="Started">
                <At of={startedAt} />
              </Pair>
              <Pair name="Duration">
                {endedAt === null ? <span class="mark on">In progress</span> : words.span(endedAt - startedAt)}
              </Pair>
              <Pair name="Conversation ID">
                <Id id={id} what="the conversation ID" />
              </Pair>
            </Pairs>
            <h2>Transcript</h2>
            {turns.length === 0 && <p class="small">No messages.</p>}
            <ol class="turns">
              {turns.map(({ at, role, text }, index) => (
                <li key={index} class={role === "agent" ? "agent" : undefined}>
                  <p class="small">
                    {role === "agent" ? "Agent" : "Caller"}
                    <span title={words.exactly(at)}>{words.span(at - startedAt)}</span>
                  </p>
                  <p>{text}</p>
                </li>
              ))}
            </ol>
          </>
        )}
      </Show>
    </>
  )
}
