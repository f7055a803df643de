/**
 * A process of the built program that can be looked into: what it wrote, whether it lives, and its memory after a full
 * collection, asked for over its inspector. It is ended by its pid, and dies with this process.
 */
import { spawn } from "node:child_process"
import { once } from "node:events"
import { mkdtempSync, readdirSync, rmSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { WebSocket } from "ws"
import { program, whenBuilt } from "../harness/build.ts"
import { eventually } from "../harness/process.ts"

export interface Memory {
  readonly rss: number
  /** of what is alive */
  readonly heap: number
  readonly external: number
}

export interface Inspected {
  readonly pid: number
  /** the first thing that matched in what it wrote */
  readonly said: (pattern: RegExp) => Promise<string>
  /** code or signal, once it has ended */
  readonly ended: () => string | undefined
  readonly memory: () => Promise<Memory>
  /** evaluates an expression in it */
  readonly evaluate: (expression: string) => Promise<unknown>
  /** open file descriptors, sockets among them; 0 where the system does not tell */
  readonly descriptors: () => number
  readonly dispose: () => Promise<void>
}

const fieldOf = (value: unknown, name: string): unknown =>
  typeof value === "object" && value !== null ? Reflect.get(value, name) : undefined

/** Commands of the Chrome DevTools protocol, one at a time. */
const connect = async (url: string) => {
  const socket = new WebSocket(url, { perMessageDeflate: false })
  await once(socket, "open")
  let last = 0
  const waiting = new Map<unknown, (result: unknown) => void>()
  socket.on("message", (data) => {
    const message: unknown = JSON.parse(String(data))
    const id = fieldOf(message, "id")
    waiting.get(id)?.(fieldOf(message, "result"))
    waiting.delete(id)
  })
  socket.on("close", () => {
    for (const resolve of waiting.values()) resolve(undefined)
  })
  const command = (method: string, params: object = {}): Promise<unknown> =>
    new Promise((resolve) => {
      if (socket.readyState !== WebSocket.OPEN) return resolve(undefined)
      last++
      waiting.set(last, resolve)
      socket.send(JSON.stringify({ id: last, method, params }))
    })
  return { command, close: () => socket.terminate() }
}

/** Starts the program; every line that it writes goes to `onLine`. */
export const startInspected = async (
  args: ReadonlyArray<string>,
  environment: Readonly<Record<string, string>>,
  onLine: (line: string) => void,
): Promise<Inspected> => {
  await whenBuilt()
  const cwd = mkdtempSync(join(tmpdir(), "voicegate-fuzz-"))
  const child = spawn(process.execPath, ["--inspect=127.0.0.1:0", program, ...args], {
    cwd,
    env: { PATH: process.env.PATH ?? "", ...environment },
    stdio: ["ignore", "pipe", "pipe"],
  })
  let beginning = ""
  const read = (stream: NodeJS.ReadableStream): void => {
    let rest = ""
    stream.on("data", (chunk: Buffer) => {
      const text = chunk.toString()
      if (beginning.length < 100_000) beginning += text
      const lines = (rest + text).split("\n")
      rest = lines.pop() ?? ""
      for (const line of lines) if (line !== "") onLine(line)
    })
  }
  read(child.stdout)
  read(child.stderr)
  const gone = new Promise<void>((resolve) => child.on("close", () => resolve()))
  await once(child, "spawn")
  const pid = child.pid ?? 0
  const watchdog = spawn("sh", ["-c", `read -r _; kill -9 ${pid}`], { stdio: ["pipe", "ignore", "ignore"] })
  const ended = (): string | undefined =>
    child.signalCode ?? (child.exitCode === null ? undefined : `exit code ${child.exitCode}`)

  const said = async (pattern: RegExp): Promise<string> => {
    await eventually(`${args.join(" ")} says ${pattern}`, () => {
      if (ended() !== undefined) throw new Error(beginning)
      return pattern.test(beginning)
    })
    return pattern.exec(beginning)?.[1] ?? ""
  }
  const inspector = await connect(await said(/Debugger listening on (ws:\S+)/))
  const evaluate = async (expression: string): Promise<unknown> => {
    const answered = await inspector.command("Runtime.evaluate", { expression, returnByValue: true })
    return fieldOf(fieldOf(answered, "result"), "value")
  }
  return {
    pid,
    said,
    ended,
    evaluate,
    memory: async () => {
      await inspector.command("HeapProfiler.collectGarbage")
      const usage = await evaluate("process.memoryUsage()")
      const bytes = (name: string) => Number(fieldOf(usage, name) ?? Number.NaN)
      return { rss: bytes("rss"), heap: bytes("heapUsed"), external: bytes("external") }
    },
    descriptors: () => {
      try {
        return readdirSync(`/proc/${pid}/fd`).length
      } catch {
        return 0
      }
    },
    dispose: async () => {
      inspector.close()
      watchdog.kill("SIGKILL")
      if (ended() === undefined) child.kill("SIGKILL")
      await gone
      rmSync(cwd, { recursive: true, force: true })
    },
  }
}
