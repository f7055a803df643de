/** A host's receiver of events: verifies each signature, and answers as its script says. */
import { createHmac } from "node:crypto"
import type { IncomingHttpHeaders, ServerResponse } from "node:http"
import { text } from "node:stream/consumers"
import { type Listening, listen } from "../harness/platform-wire.ts"

export interface Received {
  readonly id: string
  readonly type: string
  readonly seq: number
  readonly ticketHash: string
  readonly headers: IncomingHttpHeaders
  readonly body: string
}

export interface Receiver extends Listening {
  readonly url: string
  /** those whose answer was a success, in the order of their arrival */
  readonly taken: ReadonlyArray<Received>
  /** all, also those that were refused */
  readonly received: ReadonlyArray<Received>
  /** the most events of one ticket that were under way at once */
  readonly mostOfOneTicket: () => number
  readonly mostAtOnce: () => number
  /** how it answers from now on; true when the event is taken */
  script: (event: Received, response: ServerResponse) => boolean | Promise<boolean>
}

/** As Standard Webhooks says, written independently of what signs. */
export const isSignedBy = ({ body, headers }: Received, secret: string): boolean => {
  const key = Buffer.from(secret.slice("whsec_".length), "base64")
  const signed = `${headers["webhook-id"]}.${headers["webhook-timestamp"]}.${body}`
  const expected = `v1,${createHmac("sha256", key).update(signed).digest("base64")}`
  return String(headers["webhook-signature"]).split(" ").includes(expected)
}

const take: Receiver["script"] = (_event, response) => {
  response.writeHead(204).end()
  return true
}

export const startReceiver = async (port = 0): Promise<Receiver> => {
  const received: Array<Received> = []
  const taken: Array<Received> = []
  const underWay = new Map<string, number>()
  let most = 0
  let atOnce = 0
  let mostAtOnce = 0
  const listening = await listen(async (request, response) => {
    const body = await text(request)
    const { id, seq, ticketHash, type } = JSON.parse(body)
    const event: Received = { id, seq, ticketHash, type, body, headers: request.headers }
    received.push(event)
    // an event without a ticket is one by itself
    const of = ticketHash ?? id
    const ofTicket = (underWay.get(of) ?? 0) + 1
    underWay.set(of, ofTicket)
    most = Math.max(most, ofTicket)
    mostAtOnce = Math.max(mostAtOnce, ++atOnce)
    response.once("close", () => {
      underWay.set(of, (underWay.get(of) ?? 1) - 1)
      atOnce--
    })
    if (await receiver.script(event, response)) taken.push(event)
  }, port)
  const receiver: Receiver = {
    ...listening,
    url: `http://127.0.0.1:${listening.port}/events`,
    received,
    taken,
    mostOfOneTicket: () => most,
    mostAtOnce: () => mostAtOnce,
    script: take,
  }
  return receiver
}
