/**
 * What a `postgres://` connection string asks for, TLS first. Its parameters are those of libpq that have a meaning here; an unknown
 * one is refused, because a misspelt `sslmode` that is ignored sends the password in clear.
 */
import { readFileSync } from "node:fs"
import { connect } from "node:net"
import type { ConnectionOptions } from "node:tls"
import { Effect, Redacted, Result } from "effect"
import { loopbackNames } from "../../lib/ip/loopback.ts"

/** `prefer` uses TLS where the server offers it, without verifying the server. The others verify it, or do without. */
export type TlsMode = "disable" | "prefer" | "require" | "verify-ca" | "verify-full"

const PASSED_ON = ["host", "port", "user", "password", "dbname", "application_name", "options", "connect_timeout"]
const MODES = ["disable", "allow", "prefer", "require", "verify-ca", "verify-full"] as const
const PARAMETERS = [...PASSED_ON, "sslmode", "sslrootcert", "ssl"]

export interface PostgresTarget {
  /** without the parameters about TLS */
  readonly url: Redacted.Redacted<string>
  readonly host: string
  readonly port: number
  readonly mode: TlsMode
  /** the certificates to trust, PEM; those of Node when absent */
  readonly ca?: string
}

const isMode = (text: string): text is (typeof MODES)[number] => MODES.some((mode) => mode === text)

/** Whether the address is of this machine: a socket's path, or a loopback address. */
export const isLocal = ({ host }: PostgresTarget): boolean => host.startsWith("/") || loopbackNames(host) !== undefined

const modeOf = (parameters: URLSearchParams): Result.Result<TlsMode, string> => {
  const [given, ssl] = [parameters.get("sslmode"), parameters.get("ssl")]
  if (given !== null && !isMode(given)) return Result.fail(`sslmode: Expected one of ${MODES.join(", ")}`)
  if (ssl !== null && !["true", "false", "1", "0"].includes(ssl)) return Result.fail("ssl: Expected true or false")
  const asked = ssl === null ? undefined : ssl === "true" || ssl === "1" ? "require" : "disable"
  if (given !== null && asked !== undefined && (given === "disable") !== (asked === "disable")) {
    return Result.fail("ssl and sslmode: Expected the same of both, or only one")
  }
  if (given !== null) return Result.succeed(given === "allow" ? "prefer" : given)
  // a certificate is there to verify the server
  return Result.succeed(asked ?? (parameters.has("sslrootcert") ? "verify-full" : "prefer"))
}

const certificateOf = (file: string): Result.Result<string, string> => {
  try {
    const pem = readFileSync(file, "utf8")
    return pem.includes("-----BEGIN CERTIFICATE-----")
      ? Result.succeed(pem)
      : Result.fail(`sslrootcert: Expected certificates in PEM in the file ${file}`)
  } catch (error) {
    const code = error instanceof Error && "code" in error ? String(error.code) : "unreadable"
    return Result.fail(`sslrootcert: the file ${file} cannot be read (${code})`)
  }
}

/** Reads a connection string, and the file that it names. Fails with what is wrong, which contains no secret. */
export const parsePostgresUrl = (secret: Redacted.Redacted<string>): Result.Result<PostgresTarget, string> =>
  Result.gen(function* () {
    const url = URL.parse(Redacted.value(secret))
    if (url === null) return yield* Result.fail("Expected postgres://user:password@host:port/database")
    const { searchParams } = url
    for (const name of new Set(searchParams.keys())) {
      if (!PARAMETERS.includes(name)) {
        return yield* Result.fail(`${name}: unknown parameter; the parameters are ${PARAMETERS.join(", ")}`)
      }
      if (searchParams.getAll(name).length > 1) return yield* Result.fail(`${name}: Expected it once`)
    }
    const mode = yield* modeOf(searchParams)
    const file = searchParams.get("sslrootcert")
    const ca = file === null || file === "system" ? undefined : yield* certificateOf(file)
    if (file !== null && (mode === "disable" || mode === "prefer")) {
      return yield* Result.fail(`sslrootcert: Expected sslmode verify-full, verify-ca or require with it, not ${mode}`)
    }
    for (const name of ["sslmode", "sslrootcert", "ssl"]) searchParams.delete(name)
    const host = searchParams.get("host") ?? decodeURIComponent(url.hostname)
    return {
      url: Redacted.make(url.href),
      host: host === "" ? "localhost" : host.replace(/^\[(.*)\]$/, "$1"),
      port: Number(searchParams.get("port") ?? (url.port === "" ? "5432" : url.port)),
      mode,
      ...(ca !== undefined && { ca }),
    }
  })

/** SSLRequest: its length and its code. */
const SSL_REQUEST = Buffer.from([0, 0, 0, 8, 4, 210, 22, 47])
const OFFER_MILLIS = 5_000

/** False when the server cannot be asked: connecting then fails with the reason. */
const offersTls = ({ host, port }: PostgresTarget): Effect.Effect<boolean> =>
  Effect.callback<boolean>((resume) => {
    const socket = connect(host.startsWith("/") ? { path: `${host}/.s.PGSQL.${port}` } : { host, port })
    const finish = (offers: boolean): void => {
      socket.destroy()
      resume(Effect.succeed(offers))
    }
    // of a real socket, so in real time in tests as well
    socket.setTimeout(OFFER_MILLIS, () => finish(false))
    socket.once("connect", () => socket.write(SSL_REQUEST))
    socket.once("data", (answer) => finish(answer[0] === 0x53))
    socket.once("error", () => finish(false))
    socket.once("close", () => finish(false))
    return Effect.sync(() => socket.destroy())
  })

/** False for none. */
export const tlsOf = (target: PostgresTarget): Effect.Effect<ConnectionOptions | false> => {
  const { ca, mode } = target
  if (mode === "disable") return Effect.succeed(false)
  if (mode === "prefer") {
    return Effect.map(offersTls(target), (offers) => (offers ? { rejectUnauthorized: false } : false))
  }
  return Effect.succeed({
    ...(ca !== undefined && { ca }),
    ...(mode === "verify-ca" && { checkServerIdentity: () => undefined }),
  })
}

/** What an operator should know about the way to the database; undefined when nothing. */
export const warningOf = (target: PostgresTarget, tls: ConnectionOptions | false): string | undefined => {
  if (isLocal(target)) return undefined
  const remedy = "use sslmode=verify-full, with sslrootcert=<file> for a CA of your own"
  if (tls === false) {
    return `Everything that is sent to the database at ${target.host}, its password included, is not encrypted: ${remedy}.`
  }
  return tls.rejectUnauthorized === false
    ? `The database at ${target.host} is encrypted, but not verified, so another server could pose as it: ${remedy}.`
    : undefined
}
