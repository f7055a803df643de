/** Counts the Redis commands of instances, with MONITOR on a separate connection. */
import { createHash } from "node:crypto"
import { once } from "node:events"
import { createConnection } from "node:net"
import { OWN_CHANNEL } from "../../../src/store/redis/listener.ts"
import { lua } from "../../../src/store/rules/lua.generated.ts"
import { eventually } from "../../harness/process.ts"
import type { RedisServer } from "../../harness/redis.ts"

/** Commands of background tasks: the sweep, the ends of long calls, their limits, connection checks and the clock. */
const BACKGROUND =
  /^(?:(?:EVAL )?(?:queue\.(?:sweep|audit|dueEnds|dueLengths|repair)|gates\.heartbeat)|TIME|INFO|PING|PROBE|MONITOR|ECHO)$/

const LINE = /^\+[\d.]+ \[\d+ (\S+)\] "([^"]*)"(?: "((?:[^"\\]|\\.)*)")?/

const escapes: Readonly<Record<string, string>> = { n: "\n", r: "\r", t: "\t" }
const unescaped = (text: string): string =>
  text.replace(/\\(x[0-9a-f]{2}|.)/g, (_, escaped: string) =>
    escaped.length === 3 ? String.fromCharCode(Number.parseInt(escaped.slice(1), 16)) : (escapes[escaped] ?? escaped),
  )

const sha1 = (text: string): string => createHash("sha1").update(text, "latin1").digest("hex")

/**
 * Names the commands that clients send; scripts by the name in their first line, as `EVAL name` where they are sent with their text.
 */
const makeNames = () => {
  const scripts = new Map<string, string>(Object.entries(lua).map(([name, text]) => [sha1(text), name]))
  return (line: string): (() => string) | undefined => {
    const [, client, command = "", first = ""] = LINE.exec(line) ?? []
    // commands inside a script are not round trips
    if (client === undefined || client === "lua") return undefined
    switch (command.toLowerCase()) {
      case "eval": {
        const text = unescaped(first)
        const name = /^-- voicegate ([\w.+]+)/.exec(text)?.[1] ?? "eval"
        scripts.set(sha1(text), name)
        return () => `EVAL ${name}`
      }
      case "publish":
        return () => (first.startsWith(OWN_CHANNEL) ? "PROBE" : "PUBLISH")
      case "evalsha":
        return () => scripts.get(first) ?? `script ${first.slice(0, 8)}`
      default:
        return () => command.toUpperCase()
    }
  }
}

export interface Monitor {
  /** the commands of clients since the last call, oldest first, without those that run beside the requests */
  readonly take: () => Promise<ReadonlyArray<string>>
  /** waits for a command of this name, and with this text in its arguments */
  readonly sees: (command: string, text?: string) => Promise<void>
  /** the lines of MONITOR for the commands of this name since the last `take` */
  readonly lines: (command: string) => Promise<ReadonlyArray<string>>
  readonly dispose: () => Promise<void>
}

/** Watches a server. Commands are seen in the order in which the server carried them out. */
export const startMonitor = async (server: RedisServer): Promise<Monitor> => {
  const socket = createConnection({ host: server.host, port: server.port })
  let rest = ""
  let all: Array<{ readonly name: () => string; readonly line: string }> = []
  const nameOf = makeNames()
  socket.on("data", (chunk) => {
    const lines = (rest + chunk.toString()).split("\r\n")
    rest = lines.pop() ?? ""
    for (const line of lines) {
      const name = nameOf(line)
      if (name !== undefined) all.push({ name, line })
    }
  })
  socket.on("error", () => {})
  await once(socket, "connect")
  socket.write("MONITOR\r\n")
  let marks = 0
  /** everything before this has been seen when the mark comes back */
  const reachMark = async (): Promise<void> => {
    marks++
    await server.command("echo", `mark-${marks}`)
    await eventually("the monitor's mark", () => all.some(({ name }) => name() === "ECHO"))
  }
  await eventually("the monitor", async () => {
    await server.command("echo", "begin")
    return all.length > 0
  })
  all = []
  return {
    take: async () => {
      await reachMark()
      const taken = all.map(({ name }) => name()).filter((name) => !BACKGROUND.test(name))
      all = []
      return taken
    },
    sees: (command, text = "") =>
      eventually(`the command ${command}`, () =>
        all.some(({ name, line }) => name() === command && line.includes(text)),
      ),
    lines: async (command) => {
      await reachMark()
      return all.flatMap(({ name, line }) => (name() === command ? [line] : []))
    },
    dispose: async () => {
      socket.destroy()
    },
  }
}
