/** Valid and invalid upgrades, followed by frames that violate the protocol and records that are not SignalR's. */

import type { Chance } from "../harness/chance.ts"
import { hostileFrames, textFrame } from "./frames.ts"
import type { Known } from "./known.ts"
import { spoil } from "./mutate.ts"
import { hostileSegment } from "./texts.ts"
import { upgrade } from "./wire.ts"

const END = "\u001e"

const wrongHandshake = (chance: Chance): Readonly<Record<string, string | undefined>> => {
  switch (chance.below(8)) {
    case 0:
      return { "sec-websocket-key": chance.pick("", "x", "AAAA", "a".repeat(200), undefined, "dGhlIHNhbXBsZSBub25jZQ") }
    case 1:
      return { "sec-websocket-version": chance.pick("0", "12", "14", "99999999999", "x", undefined) }
    case 2:
      return { connection: chance.pick("close", "keep-alive", "keep-alive, Upgrade", "upgrade, upgrade") }
    case 3:
      return { upgrade: chance.pick("h2c", "websocket, h2c", "WebSocket", "websocket\t", "x", undefined) }
    case 4:
      return {
        "sec-websocket-extensions": chance.pick("permessage-deflate; client_max_window_bits", ",,,", "x".repeat(999)),
      }
    case 5:
      return { "sec-websocket-protocol": chance.pick("json", "a,a", ",", "@", "a".repeat(2_000)) }
    case 6:
      return { origin: chance.pick("https://evil.example", "null", "", "https://shop.example", "http://gate.example") }
    default:
      return { "content-length": chance.pick("5", "-1"), "transfer-encoding": chance.pick("chunked", undefined) }
  }
}

const RECORDS = [
  { protocol: "json", version: 1 },
  { type: 1, target: "Register", arguments: ["A".repeat(26)], invocationId: "0" },
  { type: 1, target: "Register", arguments: [], invocationId: "1" },
  { type: 1, target: "toString", arguments: [{}, null, []] },
  { type: 3, invocationId: "0", result: 1 },
  { type: 6 },
  { type: 7, error: "gone", allowReconnect: true },
  { type: 99 },
]

/** Messages of a hub's client: a handshake or none, whole or partial records, several in a frame or one in several. */
const hubTalk = (chance: Chance, known: Known): Buffer => {
  const said: Array<string> = chance.percent(80) ? [`{"protocol":"json","version":1}${END}`] : []
  for (let n = chance.below(6); n > 0; n--) {
    const good = RECORDS[chance.below(RECORDS.length)] ?? {}
    const record = spoil(chance, good).replace("A".repeat(26), known.tickets.pick(chance, "none"))
    said.push(record + (chance.percent(85) ? END : ""))
  }
  if (chance.percent(5)) said.push(`{"type":1,"target":"Register","arguments":${"[".repeat(7_000)}`)
  if (chance.percent(5)) said.push(`${END}`.repeat(500))
  return Buffer.concat(chance.percent(50) ? said.map(textFrame) : [textFrame(said.join(""))])
}

const PUSH = [
  '{"type":"start"}',
  '{"type":"leave"}',
  '{"type":"hidden"}',
  '{"type":"__proto__"}',
  "start",
  "[]",
  "null",
  "{".repeat(500),
]

const pushTalk = (chance: Chance): Buffer =>
  Buffer.concat(
    Array.from({ length: chance.pick(1, 2, 5, 120) }, () => textFrame(PUSH[chance.below(PUSH.length)] ?? "")),
  )

/** One connection's bytes, from the upgrade on; the server may end it wherever it likes. */
export const conversation = (
  chance: Chance,
  known: Known,
): { readonly to: "gate" | "platform"; readonly bytes: Buffer } => {
  const ticket = known.tickets.pick(chance, "A".repeat(26))
  const events = `/api/session/${ticket}/events`
  const session = known.sockets.pick(chance, "/session/none?token=none")
  const hub = chance.pick(
    "/sessionHub",
    "/sessionHub",
    "/sessionHub?id=AAAAAAAAAAAAAAAAAAAAAA",
    "/sessionHub?id=%ff&id=",
  )
  if (chance.percent(15)) return { to: "platform", bytes: Buffer.concat([upgrade(session), hostileFrames(chance)]) }
  switch (chance.below(6)) {
    case 0:
      return { to: "gate", bytes: upgrade(chance.pick(hub, events), wrongHandshake(chance)) }
    case 1:
      return {
        to: "gate",
        bytes: upgrade(`/${hostileSegment(chance)}`, chance.percent(50) ? wrongHandshake(chance) : {}),
      }
    case 2:
      return { to: "gate", bytes: Buffer.concat([upgrade(events), pushTalk(chance)]) }
    case 3:
      return { to: "gate", bytes: Buffer.concat([upgrade(chance.pick(hub, events)), hostileFrames(chance)]) }
    default:
      return { to: "gate", bytes: Buffer.concat([upgrade(hub), hubTalk(chance, known)]) }
  }
}
