/**
 * A real PostgreSQL server for tests. It listens on a free port of 127.0.0.1 only, keeps its files in its own directory
 * below the system's temporary one, and is stopped by its pid. It refuses to run as root, so there it runs as
 * `postgres`.
 */
import { execFile } from "node:child_process"
import { existsSync } from "node:fs"
import { chmod, chown, mkdir, mkdtemp, readdir, rename, rm } from "node:fs/promises"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { fileURLToPath } from "node:url"
import { promisify } from "node:util"
import { type Child, eventually, freePort, start } from "../harness/process.ts"

const run = promisify(execFile)

export interface PostgresServer {
  readonly port: number
  /** the file of its certificate, when it was started with `tls` */
  readonly certificate: string
  /** creates an empty database; returns its connection string */
  readonly database: () => Promise<string>
  /** everything in a database, as SQL text */
  readonly dump: (url: string) => Promise<string>
  /** lets all its processes stand still: connections stay open, and nothing is answered */
  readonly freeze: () => Promise<void>
  /** lets them go on */
  readonly thaw: () => Promise<void>
  /** stops it and removes its files */
  readonly dispose: () => Promise<void>
}

/** The directory of the server's programs: Debian keeps them out of the PATH; the newest version is last. */
const programs = async (): Promise<string> => {
  const root = "/usr/lib/postgresql"
  const versions = await readdir(root).catch(() => [])
  const newest = versions.sort((a, b) => Number(a) - Number(b)).at(-1)
  return newest === undefined ? "" : join(root, newest, "bin/")
}

/** How to run a command as a user that the server accepts. */
const unprivileged = async (): Promise<{ readonly prefix: ReadonlyArray<string>; readonly uid?: number }> => {
  if (process.getuid?.() !== 0) return { prefix: [] }
  const { stdout } = await run("id", ["-u", "postgres"])
  return {
    prefix: ["setpriv", "--reuid", "postgres", "--regid", "postgres", "--init-groups"],
    uid: Number(stdout.trim()),
  }
}

/** A certificate of its own for 127.0.0.1, which no one trusts. */
const makeCertificate = async (dir: string, uid: number | undefined): Promise<ReadonlyArray<string>> => {
  const [key, cert] = [join(dir, "server.key"), join(dir, "server.crt")]
  const request = ["req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes", "-days", "1"]
  const names = ["-subj", "/CN=127.0.0.1", "-addext", "subjectAltName=IP:127.0.0.1"]
  await run("openssl", [...request, ...names, "-keyout", key, "-out", cert])
  await chmod(key, 0o600)
  if (uid !== undefined) await Promise.all([chown(key, uid, -1), chown(cert, uid, -1)])
  return ["ssl=on", `ssl_key_file=${key}`, `ssl_cert_file=${cert}`]
}

const cache = fileURLToPath(new URL("../../node_modules/.cache", import.meta.url))

/** Copies a directory with its owners. */
const copy = (from: string, to: string) => run("cp", ["-a", from, to])

/** Makes an empty cluster in `data`: with `initdb` for the first server of this version, by a copy of what that made for the others. */
const makeCluster = async (version: string, data: string, initdb: () => Promise<unknown>): Promise<void> => {
  const template = join(cache, `postgres-${version}`)
  if (existsSync(template)) {
    await copy(template, data)
    return
  }
  await initdb()
  await mkdir(cache, { recursive: true })
  const own = await mkdtemp(`${template}-`)
  await copy(data, join(own, "data"))
  // another file of tests may have been the first
  await rename(join(own, "data"), template).catch(() => {})
  await rm(own, { recursive: true, force: true })
}

/** Starts one server; with `tls` it offers TLS, by a certificate in `certificate`. */
export const startPostgres = async ({ tls = false } = {}): Promise<PostgresServer> => {
  const bin = await programs()
  const { prefix, uid } = await unprivileged()
  const command = (name: string, args: ReadonlyArray<string>): [string, ...ReadonlyArray<string>] => {
    const [first, ...rest] = [...prefix, bin + name, ...args]
    if (first === undefined) throw new Error("there is always a command")
    return [first, ...rest]
  }
  const dir = await mkdtemp(join(tmpdir(), "voicegate-postgres-"))
  if (uid !== undefined) await chown(dir, uid, -1)
  const data = join(dir, "data")
  const [initdb, ...initdbArgs] = command("initdb", ["-D", data, "-U", "postgres", "-A", "trust", "-E", "UTF8", "-N"])
  const { stdout: version } = await run(`${bin}postgres`, ["--version"])
  await makeCluster(/[\d.]+/.exec(version)?.[0] ?? "", data, () => run(initdb, initdbArgs, { cwd: dir }))

  const port = await freePort()
  const settings = [
    `port=${port}`,
    "listen_addresses=127.0.0.1",
    "unix_socket_directories=",
    "fsync=off",
    ...(tls ? await makeCertificate(dir, uid) : []),
  ]
  const flags = settings.flatMap((setting) => ["-c", setting])
  const [postgres, ...args] = command("postgres", ["-D", data, ...flags])
  const child: Child = await start(postgres, args, dir)
  const client = ["-h", "127.0.0.1", "-p", String(port), "-U", "postgres"]
  let frozen: ReadonlyArray<number> = []
  const freeze = async (): Promise<void> => {
    // the first process alone would leave those of open connections running
    child.kill("SIGSTOP")
    const { stdout } = await run("pgrep", ["-P", String(child.pid)])
    frozen = stdout.split("\n").filter(Boolean).map(Number)
    for (const pid of frozen) process.kill(pid, "SIGSTOP")
  }
  const thaw = async (): Promise<void> => {
    for (const pid of frozen) process.kill(pid, "SIGCONT")
    frozen = []
    child.kill("SIGCONT")
  }
  const stop = async (): Promise<void> => {
    await thaw()
    // stops at once, with its children
    child.kill("SIGQUIT")
    await eventually("the end of PostgreSQL", () => child.exited())
    await child.stop()
    await rm(dir, { recursive: true, force: true })
  }
  try {
    await eventually(`PostgreSQL on port ${port}`, async () => {
      if (child.exited()) throw new Error(child.output())
      await run(`${bin}pg_isready`, client)
      return true
    })
  } catch (error) {
    await stop()
    throw error
  }
  let databases = 0
  return {
    port,
    certificate: join(dir, "server.crt"),
    database: async () => {
      const name = `test_${++databases}`
      await run(`${bin}createdb`, [...client, name])
      return `postgres://postgres@127.0.0.1:${port}/${name}`
    },
    dump: async (url) => {
      const { stdout } = await run(`${bin}pg_dump`, ["-d", url, "--inserts"], { maxBuffer: 64 * 1024 * 1024 })
      return stdout
    },
    freeze,
    thaw,
    dispose: stop,
  }
}
