/** A built gate as a separate process, with its resource figures and a check of its log. */
import { readdirSync, readFileSync, readlinkSync, rmSync } from "node:fs"
import { Agent } from "node:http"
import { join } from "node:path"
import { fileURLToPath } from "node:url"
import { program } from "../harness/build.ts"
import { eventually, start } from "../harness/process.ts"
import type { Ledger } from "./ledger.ts"

/** A gate's resources after a garbage collection, in bytes or counts. */
export interface GateFigures {
  readonly rss: number
  readonly heapUsed: number
  /** memory outside the heap that V8 tracks, including buffers */
  readonly external: number
  /** from /proc: sockets, and all open files */
  readonly sockets: number
  readonly files: number
  /** timers that keep the process alive, and everything else that does */
  readonly timers: number
  readonly resources: number
  /** listeners on `process` */
  readonly listeners: number
}

/** The minimum of each figure: a gate's resources while no tick is running. */
export const minimumOf = (looks: ReadonlyArray<GateFigures>): GateFigures => {
  const least = (figure: keyof GateFigures): number => Math.min(...looks.map((look) => look[figure]))
  return {
    rss: least("rss"),
    heapUsed: least("heapUsed"),
    external: least("external"),
    sockets: least("sockets"),
    files: least("files"),
    timers: least("timers"),
    resources: least("resources"),
    listeners: least("listeners"),
  }
}

export interface GateProcess {
  readonly pid: number
  readonly url: string
  /** keeps connections alive, as a proxy does */
  readonly agent: Agent
  /** with `atRest`, without the memory that V8 keeps in reserve */
  readonly figures: (atRest: boolean) => Promise<GateFigures>
  readonly sockets: () => number
  readonly stop: () => Promise<void>
}

const count = (resources: unknown, which: (name: string) => boolean): number =>
  typeof resources === "object" && resources !== null
    ? Object.entries(resources).reduce((sum, [name, n]) => sum + (which(name) ? Number(n) : 0), 0)
    : 0

/** The targets of open files; files that were closed in the meantime are omitted. */
const openFiles = (pid: number): ReadonlyArray<string> =>
  readdirSync(`/proc/${pid}/fd`).flatMap((fd) => {
    try {
      return [readlinkSync(`/proc/${pid}/fd/${fd}`)]
    } catch {
      return []
    }
  })
const socketsOf = (pid: number): number => openFiles(pid).filter((file) => file.startsWith("socket:")).length

/** Warnings that this platform's failures cause. */
const EXPECTED_WARNINGS = [
  /The platform did not start a session/,
  /It is not known whether the platform started a session/,
  /The platform (cannot be reached|can be reached again) for campaign/,
  /A session has ended without a webhook from the platform/,
  /"level":"info"/,
]

/** Classifies a gate's output: counts its access log, and reports unexpected warnings and all of stderr as problems. */
const watcher = (name: string, ledger: Ledger) => {
  const partialLines = { stdout: "", stderr: "" }
  return (from: "stdout" | "stderr", text: string): void => {
    const lines = (partialLines[from] + text).split("\n")
    partialLines[from] = lines.pop() ?? ""
    for (const line of lines) {
      if (line.trim() === "") continue
      if (from === "stderr") ledger.problem("output on stderr", `${name}: ${line}`)
      else if (line.includes('"message":"request"')) {
        ledger.count("requests that the gates answered")
        if (line.includes('"status":500')) ledger.problem("internal errors", `${name}: ${line}`)
      } else if (!EXPECTED_WARNINGS.some((expected) => expected.test(line)))
        ledger.problem("unexpected log lines", `${name}: ${line}`)
    }
  }
}

/**
 * How long the callers keep an idle connection (ms). With any limit, Node's agent follows the `Keep-Alive` header too and closes first;
 * without one it may send on a connection that the gate is closing, which fails a request in an hour or so.
 */
const KEPT_MILLIS = 60_000

/** Starts a gate with these settings; resolves when it is ready. Its figures are written to a file in `directory`. */
export const startGate = async (
  name: string,
  settings: Readonly<Record<string, string>>,
  directory: string,
  ledger: Ledger,
): Promise<GateProcess> => {
  const file = join(directory, `${name}.json`)
  const probe = fileURLToPath(new URL("probe.ts", import.meta.url))
  let output = ""
  const watch = watcher(name, ledger)
  const child = await start(process.execPath, ["--expose-gc", "--import", probe, program, "serve"], directory, {
    env: { PATH: process.env.PATH ?? "", NO_COLOR: "1", SOAK_PROBE: file, ...settings },
    onOutput: (from, text) => {
      if (output.length < 4_096) output += text
      watch(from, text)
    },
  })
  const agent = new Agent({ keepAlive: true, timeout: KEPT_MILLIS })
  const urlOf = (): string => /listens at (http:\S+)/.exec(output)?.[1] ?? ""
  try {
    await eventually(`gate ${name} is ready`, async () => {
      if (child.exited()) throw new Error(child.output())
      return urlOf() !== "" && (await fetch(`${urlOf()}/health/ready`)).ok
    })
  } catch (error) {
    await child.stop()
    throw error
  }
  return {
    pid: child.pid,
    url: urlOf(),
    agent,
    sockets: () => socketsOf(child.pid),
    figures: async (atRest) => {
      rmSync(file, { force: true })
      child.kill(atRest ? "SIGWINCH" : "SIGUSR2")
      let snapshot: Record<string, unknown> = {}
      await eventually(
        `figures of gate ${name}`,
        () => {
          if (child.exited()) throw new Error(child.output())
          snapshot = JSON.parse(readFileSync(file, "utf8"))
          return true
        },
        60_000,
      )
      return {
        rss: Number(snapshot.rss),
        heapUsed: Number(snapshot.heapUsed),
        external: Number(snapshot.external),
        sockets: socketsOf(child.pid),
        files: openFiles(child.pid).length,
        timers: count(snapshot.resources, (name) => name === "Timeout"),
        resources: count(snapshot.resources, (name) => name !== "Timeout"),
        listeners: Number(snapshot.listeners),
      }
    },
    stop: async () => {
      agent.destroy()
      await child.stop()
    },
  }
}
