/** Step 5: whether the gate reaches the platform and the platform reaches the gate, checked while the page is open. */
import type { ComponentChildren, JSX } from "preact"
import { useEffect, useRef } from "preact/hooks"
import type { Campaign, SetupCheck } from "../../../../platform/http/dashboard/shapes.ts"
import type { ApiKey } from "../../../../platform/keys/ApiKey.ts"
import { announceUnseen } from "../../../shared/parts/announce.ts"
import { api } from "../../client.ts"
import { Copy } from "../../parts/Copy.tsx"
import { useLoad } from "../../parts/load.ts"
import { Show } from "../../parts/Show.tsx"
import { Ago } from "../../parts/Time.tsx"
import { href } from "../../router.ts"

const EVERY_MILLIS = 3_000
const COMMAND = "node dist/main.js check"

export const CheckStep = ({
  campaign,
  apiKey,
}: {
  readonly campaign: Campaign
  readonly apiKey: ApiKey
}): JSX.Element => {
  const ids = { keyId: apiKey.id, campaignId: campaign.id }
  const loaded = useLoad(() => api.setup.check({ query: ids }), `setup/${apiKey.id}/${campaign.id}`, EVERY_MILLIS)
  const said = useRef("")
  const now = loaded.value
  useEffect(() => {
    if (now === undefined) return
    const reached = now.firstRequestAt !== null ? "The gate’s first request has arrived." : ""
    const delivered = now.firstDeliveryAt !== null ? "The first webhook was delivered." : ""
    const words = [reached, delivered].filter((each) => each !== "").join(" ")
    if (words !== "" && words !== said.current) announceUnseen(words)
    said.current = words
  }, [now])
  return (
    <Show of={loaded} what="the check">
      {(check) => (
        <>
          <ul class="checks">
            <Item done={check.firstRequestAt !== null} title="The gate reaches the platform">
              {check.firstRequestAt === null ? (
                <>
                  <p>
                    Waiting for the first request with <code class="display">{apiKey.display}</code>. Start the gate, or
                    run its check:
                  </p>
                  <p class="command">
                    <code>{COMMAND}</code> <Copy text={COMMAND} what="the command" />
                  </p>
                </>
              ) : (
                <p>
                  The first request arrived <Ago of={check.firstRequestAt} />.
                </p>
              )}
            </Item>
            <Item done={check.firstDeliveryAt !== null} title="The platform reaches the gate">
              {check.firstDeliveryAt === null ? (
                <Undelivered campaign={campaign} last={check.lastDelivery} />
              ) : (
                <p>
                  The first webhook was delivered <Ago of={check.firstDeliveryAt} />.
                </p>
              )}
            </Item>
          </ul>
          {check.firstRequestAt !== null && check.firstDeliveryAt !== null && (
            <p class="notice">
              <strong>The gate is connected.</strong> Calls for {campaign.name} appear on the{" "}
              <a href={href("live")}>Live</a> page. <a href={href("businesses", campaign.id)}>Embed the widget</a> in
              your website next.
            </p>
          )}
        </>
      )}
    </Show>
  )
}

const Item = ({
  done,
  title,
  children,
}: {
  readonly done: boolean
  readonly title: string
  readonly children: ComponentChildren
}): JSX.Element => (
  <li>
    <h3>
      {title} <span class={done ? "mark on" : "mark"}>{done ? "Done" : "Waiting"}</span>
    </h3>
    {children}
  </li>
)

/** What to do while no webhook has been delivered. */
const Undelivered = ({
  campaign,
  last,
}: {
  readonly campaign: Campaign
  readonly last: SetupCheck["lastDelivery"]
}): JSX.Element => {
  if (campaign.webhook === null) {
    return <p>{campaign.name} has no session-ended webhook. Set it in step 2.</p>
  }
  if (last === null || last.outcome === null || last.outcome === "no receiver") {
    return <p>Waiting for the first webhook. Make a call through the gate and hang up.</p>
  }
  return (
    <>
      <p class="error">The last attempt failed: {last.outcome}.</p>
      <p>
        {last.outcome === "HTTP 401"
          ? "The gate rejected the token. Paste the settings again, with this campaign’s token."
          : last.outcome === "no response"
            ? `Nothing responds at ${campaign.webhook.url}. Check that the gate runs and can be reached from the platform.`
            : `Check that ${campaign.webhook.url} is the gate’s address.`}{" "}
        <a href={href("webhooks")}>Show deliveries</a>
      </p>
    </>
  )
}
