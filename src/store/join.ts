/**
 * Sends calls of one script that are made in one turn of the event loop as one command, where the script says that it can
 * (`Script.joins`): a store under load spends more on a command's way, and on what every call of a script begins with, than
 * on most calls.
 *
 * Plain callbacks, no effect: this is the hottest room of the house.
 */
import type { Script } from "../Store.ts"
import { atEndOfTurn } from "../turn.ts"

export type Done = (error: Error | null | undefined, reply?: unknown) => void
type Arguments = ReadonlyArray<string | number>
export type Send = (script: Script, keys: ReadonlyArray<string>, args: Arguments, done: Done) => void

interface Call {
  readonly keys: ReadonlyArray<string>
  readonly args: Arguments
  readonly done: Done
}

/**
 * At most so many calls are one command, which is sent as soon as it has them: the store then works on it while this process
 * decides further requests, instead of each waiting for the other.
 */
export const MOST = 24

type Joins = NonNullable<Script["joins"]>

/** Whether two calls may be one command. On a cluster all keys of a command are on one node: no own ones can differ. */
const fits = ({ own, ownKeys, times }: Joins, cluster: boolean, a: Call, b: Call): boolean => {
  if (a.args.length !== b.args.length) return false
  for (let i = 0; i < a.args.length; i++) {
    if (a.args[i] !== b.args[i] && !own.includes(i) && !times.includes(i)) return false
  }
  for (let i = cluster ? 0 : ownKeys; i < a.keys.length; i++) if (a.keys[i] !== b.keys[i]) return false
  return true
}

const keysOf = (calls: ReadonlyArray<Call>, shared: ReadonlyArray<string>, ownKeys: number): ReadonlyArray<string> => {
  if (ownKeys === 0) return shared
  const keys: Array<string> = []
  for (const call of calls) for (let i = 0; i < ownKeys; i++) keys.push(call.keys[i] ?? "")
  for (let i = ownKeys; i < shared.length; i++) keys.push(shared[i] ?? "")
  return keys
}

const argsOf = ([first, ...others]: ReadonlyArray<Call>, own: ReadonlyArray<number>): Arguments => {
  const args = [...(first?.args ?? [])]
  for (const call of others) for (const place of own) args.push(call.args[place] ?? "")
  return args
}

/** Makes what gathers calls until there are enough or the turn is over. `send` sends one command. */
export const makeJoin = (send: Send, cluster: boolean): Send => {
  let gathered = new Map<Script, Array<Call>>()

  const sendTogether = (script: Script, calls: ReadonlyArray<Call>): void => {
    const { own = [], ownKeys = 0 } = script.joins ?? {}
    send(script, keysOf(calls, calls[0]?.keys ?? [], ownKeys), argsOf(calls, own), (error, replies) => {
      calls.forEach(({ done }, i) => {
        done(error, Array.isArray(replies) ? replies[i] : undefined)
      })
    })
  }

  const flush = (): void => {
    const all = gathered
    gathered = new Map()
    for (const [script, calls] of all) sendTogether(script, calls)
  }

  return (script, keys, args, done) => {
    const { joins } = script
    if (joins === undefined) return send(script, keys, args, done)
    const call = { keys, args, done }
    if (gathered.size === 0) atEndOfTurn("send", flush)
    const calls = gathered.get(script)
    const [first] = calls ?? []
    if (calls === undefined || first === undefined) {
      gathered.set(script, [call])
    } else if (fits(joins, cluster, first, call)) {
      calls.push(call)
      if (calls.length < MOST) return
      sendTogether(script, calls)
      gathered.delete(script)
    } else {
      sendTogether(script, calls)
      gathered.set(script, [call])
    }
  }
}
