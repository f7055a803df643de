/**
 * The least that a Redis client can be: one connection, the commands of a turn of the event loop in one write, answers in their order. It
 * does not reconnect and knows no time limit. It shows how much a general client costs.
 */
import { connect } from "node:net"
import { limits } from "../support/limits.ts"
import { ADMIT, CALLER, type Decisions, type Done, LEASE_MILLIS, LIMIT, QUEUE, SLOTS } from "./scripts.ts"

const CR = 13
const [BULK, ERROR, INTEGER] = [36, 45, 58]

type Answer = Error | number | string
type Answered = (answer: Answer) => void

/** Reads answers from the chunks of a connection. */
const makeReader = (onAnswer: Answered) => {
  let chunk: Buffer = Buffer.alloc(0)
  let at = 0
  /** the next answer; undefined when the rest of it has not come yet */
  const next = (): Answer | undefined => {
    const end = chunk.indexOf(CR, at)
    if (end < 0 || end + 1 >= chunk.length) return undefined
    const type = chunk[at]
    const text = chunk.toString("latin1", at + 1, end)
    at = end + 2
    if (type === INTEGER) return Number(text)
    if (type === ERROR) return new Error(text)
    if (type !== BULK) return text
    const length = Number(text)
    if (at + length + 2 > chunk.length) return undefined
    at += length + 2
    return chunk.toString("latin1", at - length - 2, at - 2)
  }
  return (more: Buffer): void => {
    chunk = chunk.length === 0 ? more : Buffer.concat([chunk, more])
    at = 0
    for (let begin = 0; at < chunk.length; begin = at) {
      const answer = next()
      if (answer === undefined) {
        chunk = chunk.subarray(begin)
        return
      }
      onAnswer(answer)
    }
    chunk = Buffer.alloc(0)
  }
}

/** A command, encoded. */
const encoded = (words: ReadonlyArray<string | number>): string =>
  `*${words.length}\r\n${words.map((word) => `$${Buffer.byteLength(String(word))}\r\n${word}\r\n`).join("")}`

export const byRawClient = async (url: string): Promise<Decisions> => {
  const { hostname, port } = new URL(url)
  const socket = connect(Number(port), hostname).setNoDelay(true)
  const open: Array<Answered> = []
  let first = 0
  socket.on(
    "data",
    makeReader((answer) => {
      open[first++]?.(answer)
      if (first === 1_024) open.splice(0, first)
      if (first === 1_024) first = 0
    }),
  )
  let commands = ""
  const flush = (): void => {
    socket.write(commands)
    commands = ""
  }
  const send = (command: string, answered: Answered): void => {
    open.push(answered)
    if (commands === "") setImmediate(flush)
    commands += command
  }
  const load = (script: string): Promise<string> =>
    new Promise((resolve) => send(encoded(["SCRIPT", "LOAD", script]), (answer) => resolve(String(answer))))
  const [limit, admit] = await Promise.all([load(LIMIT), load(ADMIT)])
  const beforeCaller = `*6\r\n${encoded(["EVALSHA", limit, 1]).slice("*3\r\n".length)}$`
  const afterCaller = encoded([limits.hourly, limits.daily]).slice("*2\r\n".length)
  const admission = ["EVALSHA", admit, QUEUE.length, ...QUEUE, SLOTS, LEASE_MILLIS]
  const beforeId = `*${admission.length + 1}\r\n${encoded(admission).slice("*8\r\n".length)}$`
  const decoded =
    (done: Done): Answered =>
    (answer) => {
      if (answer instanceof Error) done(answer, 0)
      else done(undefined, Number(answer))
    }
  return {
    limit: (caller, done) =>
      send(`${beforeCaller}${CALLER.length + caller.length}\r\n${CALLER}${caller}\r\n${afterCaller}`, decoded(done)),
    admit: (id, done) => send(`${beforeId}${id.length}\r\n${id}\r\n`, decoded(done)),
  }
}
