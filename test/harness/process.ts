/**
 * Child processes for tests that need a real server: each is killed by its own pid when it is stopped, and also when
 * the test process dies without stopping it.
 */
import { type ChildProcess, spawn } from "node:child_process"
import { once } from "node:events"
import { createServer } from "node:net"
import { setTimeout as sleep } from "node:timers/promises"

/** How often a condition is looked at: every twentieth of the time that it has not held, within these bounds (ms). */
const [SOONEST_MILLIS, LATEST_MILLIS] = [10, 100]

/** Waits until `condition` holds; fails with `what` and the last error after `timeoutMillis`. */
export const eventually = async (
  what: string,
  condition: () => Promise<boolean> | boolean,
  timeoutMillis = 60_000,
): Promise<void> => {
  const begun = performance.now()
  let last: unknown
  while (performance.now() < begun + timeoutMillis) {
    try {
      if (await condition()) return
    } catch (error) {
      last = error
    }
    await sleep(Math.min(LATEST_MILLIS, Math.max(SOONEST_MILLIS, (performance.now() - begun) / 20)))
  }
  throw new Error(`${what}: not within ${timeoutMillis} ms`, { cause: last })
}

/** A port of 127.0.0.1 that was free a moment ago. */
export const freePort = async (): Promise<number> => {
  const server = createServer().listen(0, "127.0.0.1")
  await once(server, "listening")
  const address = server.address()
  server.close()
  await once(server, "close")
  if (address === null || typeof address === "string") throw new Error("a TCP server has a port")
  return address.port
}

export interface Child {
  readonly pid: number
  /** its output so far, for error messages */
  readonly output: () => string
  readonly exited: () => boolean
  /** sends a signal; SIGSTOP stalls it, SIGCONT resumes it */
  readonly kill: (signal: NodeJS.Signals) => void
  /** kills it (SIGKILL: nothing that a test leaves is worth saving) and waits until it has exited */
  readonly stop: () => Promise<void>
}

export interface StartOptions {
  /** the whole environment; this process's own when absent */
  readonly env?: Readonly<Record<string, string>>
  /** called with all its output */
  readonly onOutput?: (from: "stdout" | "stderr", text: string) => void
}

/** Starts a process. */
export const start = async (
  command: string,
  args: ReadonlyArray<string>,
  cwd: string,
  { env, onOutput = () => {} }: StartOptions = {},
): Promise<Child> => {
  const child: ChildProcess = spawn(command, args, {
    cwd,
    stdio: ["ignore", "pipe", "pipe"],
    ...(env === undefined ? {} : { env }),
  })
  await once(child, "spawn")
  const { pid } = child
  if (pid === undefined) throw new Error(`${command} did not start`)
  // its standard input ends with this process, however that ends
  const watchdog = spawn("sh", ["-c", `read -r _; kill -9 ${pid}`], { stdio: ["pipe", "ignore", "ignore"] })
  let output = ""
  const keep = (from: "stdout" | "stderr") => (chunk: Buffer) => {
    output = (output + chunk.toString()).slice(-8_192)
    onOutput(from, chunk.toString())
  }
  child.stdout?.on("data", keep("stdout"))
  child.stderr?.on("data", keep("stderr"))
  const exited = () => child.exitCode !== null || child.signalCode !== null
  return {
    pid,
    output: () => output,
    exited,
    kill: (signal) => {
      child.kill(signal)
    },
    stop: async () => {
      watchdog.kill("SIGKILL")
      if (exited()) return
      const gone = once(child, "exit")
      child.kill("SIGKILL")
      await gone
    },
  }
}
