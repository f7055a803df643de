/**
 * A real Redis server for tests. It listens on a free port of 127.0.0.1, keeps its files in its own directory below the
 * system's temporary one, and persists nothing unless asked to. Several together: `redis-topologies.ts`.
 */
import { execFile } from "node:child_process"
import { mkdtemp, rm } from "node:fs/promises"
import { createConnection } from "node:net"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { promisify } from "node:util"
import { Effect } from "effect"
import { type Child, eventually, freePort, start } from "./process.ts"

const run = promisify(execFile)

export interface RedisOptions {
  /** clients must send it */
  readonly password?: string
  /** every write is in the append-only file before it is answered; survives `restart` */
  readonly persistent?: boolean
  /** more of the server's own options: `["--maxmemory", "1mb"]` */
  readonly args?: ReadonlyArray<string>
}

export interface RedisServer {
  readonly host: "127.0.0.1"
  readonly port: number
  /** `redis://…`, with the password if there is one */
  readonly url: string
  readonly pid: () => number
  /** runs one command with redis-cli */
  readonly command: (...args: ReadonlyArray<string>) => Promise<string>
  /** sends a signal: SIGKILL crashes it, SIGSTOP stalls it, SIGCONT resumes it */
  readonly kill: (signal: NodeJS.Signals) => void
  /** restarts it on the same port after it was killed or stopped; data survive only when persistent */
  readonly restart: () => Promise<void>
  /** stops it; `dispose` also removes the directory */
  readonly stop: () => Promise<void>
  /** stops it and removes its files */
  readonly dispose: () => Promise<void>
}

/** Whether a server answers a PING, even with a demand for a password. */
const answers = (port: number): Promise<boolean> =>
  new Promise((resolve) => {
    const socket = createConnection({ host: "127.0.0.1", port }, () => socket.write("PING\r\n"))
    const done = (answer: boolean) => {
      socket.destroy()
      resolve(answer)
    }
    socket.setTimeout(1_000, () => done(false))
    socket.once("error", () => done(false))
    socket.once("data", (data) => done(/^(\+PONG|-NOAUTH)/.test(data.toString())))
  })

const launch = async (port: number, dir: string, args: ReadonlyArray<string>): Promise<Child> => {
  const child = await start("redis-server", args, dir)
  try {
    await eventually(`redis-server on port ${port}`, async () => {
      if (child.exited()) throw new Error(child.output())
      return answers(port)
    })
    if (child.exited()) throw new Error(child.output())
    return child
  } catch (error) {
    await child.stop()
    throw error
  }
}

/** Tries another port if the free one was taken meanwhile. */
const onFreePort = async <A>(attempt: (port: number) => Promise<A>): Promise<A> => {
  for (let left = 2; ; left--) {
    const port = await freePort()
    try {
      return await attempt(port)
    } catch (error) {
      const reason = error instanceof Error ? (error.cause ?? error) : error
      if (left === 0 || !/in use/.test(String(reason))) throw error
    }
  }
}

/** Starts a server whose arguments need its directory and port; redis-cli uses `password`. */
export const serve = async (
  argsFor: (dir: string, port: number) => Promise<ReadonlyArray<string>> | ReadonlyArray<string>,
  password?: string,
): Promise<RedisServer> => {
  const dir = await mkdtemp(join(tmpdir(), "voicegate-redis-"))
  const started = await onFreePort(async (port) => {
    const args = [...(await argsFor(dir, port)), "--bind", "127.0.0.1", "--port", String(port), "--dir", dir]
    return { port, args, child: await launch(port, dir, args) }
  })
  const { port, args } = started
  let child = started.child
  return {
    host: "127.0.0.1",
    port,
    url: `redis://${password === undefined ? "" : `:${encodeURIComponent(password)}@`}127.0.0.1:${port}`,
    pid: () => child.pid,
    command: async (...command) => {
      const access = password === undefined ? [] : ["--no-auth-warning", "-a", password]
      const given = ["-p", String(port), ...access]
      const last = command.at(-1) ?? ""
      // a program's argument has at most 128 KiB: a rule's text is read from stdin
      const asked =
        last.length > 100_000
          ? run("redis-cli", [...given, "-x", ...command.slice(0, -1)])
          : run("redis-cli", [...given, ...command])
      if (last.length > 100_000) asked.child.stdin?.end(last)
      return (await asked).stdout.trim()
    },
    kill: (signal) => child.kill(signal),
    restart: async () => {
      await child.stop()
      child = await launch(port, dir, args)
    },
    stop: () => child.stop(),
    dispose: async () => {
      await child.stop()
      await rm(dir, { recursive: true, force: true })
    },
  }
}

/** Starts one server. */
export const startRedis = (options: RedisOptions = {}): Promise<RedisServer> =>
  serve(
    () => [
      ...["--save", ""],
      ...(options.persistent === true ? ["--appendonly", "yes", "--appendfsync", "always"] : ["--appendonly", "no"]),
      ...(options.password === undefined ? [] : ["--requirepass", options.password]),
      ...(options.args ?? []),
    ],
    options.password,
  )

/** One server for the lifetime of the scope. */
export const redisServer = (options?: RedisOptions) =>
  Effect.acquireRelease(
    Effect.promise(() => startRedis(options)),
    (server) => Effect.promise(() => server.dispose()),
  )
