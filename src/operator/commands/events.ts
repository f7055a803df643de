/** What the commands `events` print: the deliveries of a campaign's events, and which are sent again. */
import { Clock, DateTime, Effect } from "effect"
import type { Deliveries, DeliveryFilter } from "../delivery-shapes.ts"
import { type ConsoleClient, ConsoleFailed, printable } from "./console-client.ts"
import { columns, type Printed } from "./run.ts"

const iso = (millis: number): string => DateTime.formatIso(DateTime.makeUnsafe(millis))

const HEAD = ["SEQ", "EVENT", "TICKET", "AT", "STATE", "TRIED", "LAST ANSWER", "NEXT"]

const rowOf = ({ attempts = 0, due, error, event, state, status }: Deliveries["rows"][number]) => [
  String(event.seq),
  event.type,
  event.ticketHash?.slice(0, 10) ?? "-",
  event.at,
  state,
  String(attempts),
  printable(error ?? (status === undefined ? "-" : `HTTP ${status}`)),
  due === undefined ? "-" : iso(due),
]

/** A page of deliveries, newest first. */
export const listEvents = (
  client: Pick<ConsoleClient, "deliveries">,
  campaign: string,
  filter: DeliveryFilter,
  before: number,
) =>
  Effect.map(client.deliveries(campaign, filter, before), (document): Printed => {
    const { failed, lastDeliveredAt, lost, more, oldestAt, pending, rows, stored, stoppedUntil } = document
    const last = rows.at(-1)?.event.seq
    return {
      ok: true,
      document,
      lines: [
        `${stored} events are kept: ${pending} wait to be delivered, ${failed} were given up; ${lost} were lost.`,
        ...(lastDeliveredAt === undefined ? [] : [`The last was delivered at ${iso(lastDeliveredAt)}.`]),
        ...(oldestAt === undefined ? [] : [`The oldest that waits is of ${iso(oldestAt)}.`]),
        ...(stoppedUntil === undefined ? [] : [`The receiver wants none until ${iso(stoppedUntil)}.`]),
        ...(rows.length === 0 ? [] : columns([HEAD, ...rows.map(rowOf)])),
        ...(more && last !== undefined ? [`There are older ones: --before ${last}`] : []),
      ],
    }
  })

/** Sends one event again. */
export const redeliverEvent = (client: Pick<ConsoleClient, "redeliver">, campaign: string, seq: number) =>
  Effect.map(client.redeliver(campaign, { type: "one", seq }), (document): Printed => {
    const lines = {
      queued: `Event ${seq} is sent again.`,
      pending: `Event ${seq} waits to be delivered, so it is sent anyway.`,
      gone: `Event ${seq} is not kept.`,
    }
    return { ok: document.result !== "gone", document, lines: [lines[document.result]] }
  })

/** Sends all again that were given up, of events since a time (ms). Without `yes` it only says how many there are. */
export const redeliverFailed = (
  client: Pick<ConsoleClient, "deliveries" | "redeliver">,
  campaign: string,
  since: number,
  yes: boolean,
) =>
  Effect.gen(function* () {
    if (!yes) {
      const { failed } = yield* client.deliveries(campaign, "failed", 0)
      return yield* Effect.fail(
        new ConsoleFailed({ message: `${failed} events were given up. To send them again, add --yes.` }),
      )
    }
    const document = yield* client.redeliver(campaign, {
      type: "failed",
      from: since,
      to: yield* Clock.currentTimeMillis,
    })
    return { ok: true, document, lines: [`${document.queued} events are sent again.`] } satisfies Printed
  })

/** Why a receiver may have answered so, where that is known. */
const hintOf = (status: number | undefined): string => {
  if (status === 401 || status === 403) return " Does the receiver have one of Events.Secrets?"
  if (status === 404 || status === 405) return " Is Events.Url its address, with its path?"
  return ""
}

/** Sends a test event, and says how it was answered. */
export const sendTestEvent = (client: Pick<ConsoleClient, "testEvent">, campaign: string) =>
  Effect.map(client.testEvent(campaign), (document): Printed => {
    const { error, event, signatures, status, to, took } = document
    const signed = signatures === 1 ? "1 signature" : `${signatures} signatures`
    return {
      ok: error === undefined,
      document,
      lines: [
        `Event ${event.id} was sent to ${printable(to)} with ${signed}.`,
        error === undefined
          ? `It was taken: HTTP ${status} after ${took} ms.`
          : `It was not taken, after ${took} ms: ${printable(error)}.${hintOf(status)}`,
      ],
    }
  })
