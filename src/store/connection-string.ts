/**
 * Parses `StoreConnectionString` in every accepted form. Errors say what is expected. No error or warning repeats any part of the
 * string that could belong to a password.
 *
 * Forms: `memory:` · `redis://` `rediss://` (one server, as registered with IANA) · `redis+sentinel://` and
 * `redis+cluster://` with several hosts (`rediss+…` with TLS) · `host:port,password=…` as StackExchange.Redis writes it, where
 * several hosts are a primary with its replicas or nodes of a Cluster; the store asks the servers which.
 *
 * Each form of Redis takes `keyPrefix`, which begins all keys and channels of the gate: `?keyPrefix=app:`, or `,keyPrefix=app:`.
 *
 * A string that asks for TLS, in the way of any client, gets it or is refused: otherwise the password would be sent in the clear.
 */
import type { ConnectionOptions } from "node:tls"
import { Redacted, Result } from "effect"
import ipaddr from "ipaddr.js"
import { parseKeyPrefix } from "./key-prefix.ts"

export interface HostPort {
  readonly host: string
  readonly port: number
}

interface Access {
  readonly username?: string
  readonly password?: Redacted.Redacted<string>
  readonly tls: boolean
  /** the name that the server's certificate must have, if that is not its host's */
  readonly serverName?: string
  /** what all keys and channels of the gate begin with, before `vg:`; absent for nothing */
  readonly keyPrefix?: string
  /** more options of TLS, such as `ca` and `cert`, which a host's own client has */
  readonly tlsContext?: Readonly<ConnectionOptions>
  /** what problems name as their origin; `StoreConnectionString` when absent */
  readonly origin?: string
}

export type RedisConnection =
  | (Access & HostPort & { readonly kind: "redis"; readonly database: number })
  | (Access & {
      readonly kind: "sentinel"
      readonly sentinels: ReadonlyArray<HostPort>
      readonly master: string
      readonly database: number
      readonly sentinelUsername?: string
      readonly sentinelPassword?: Redacted.Redacted<string>
      /** options of TLS to the Sentinels; those of the master when absent */
      readonly sentinelTlsContext?: Readonly<ConnectionOptions>
    })
  | (Access & { readonly kind: "cluster"; readonly nodes: ReadonlyArray<HostPort> })
  | (Access & {
      /** a primary with its replicas, or nodes of a Cluster; only the servers know which */
      readonly kind: "hosts"
      readonly hosts: ReadonlyArray<HostPort>
      readonly database: number
    })

export type StoreConnection = { readonly kind: "memory" } | RedisConnection

/** The connection, and warnings about options that are ignored. */
export interface ParsedConnection {
  readonly connection: StoreConnection
  readonly warnings: ReadonlyArray<string>
}

const FORMS =
  "memory:, redis://[user:password@]host[:port][/database], redis+sentinel://[:password@]host:port,host:port/master[/database], redis+cluster://[:password@]host:port,host:port, or host:port,password=… as .NET writes it"

/** Fails with what is expected, which never contains the given text. */
type Parsed<A> = Result.Result<A, string>

const REDIS_PORT = 6379
const SENTINEL_PORT = 26379
/** the TLS port of Azure's Redis, where this form comes from, and StackExchange.Redis's default */
const DOTNET_TLS_PORT = 6380

const parseHost = (text: string, defaultPort: number): HostPort | undefined => {
  const match = /^(?:\[([0-9A-Fa-f:.]+)\]|([A-Za-z0-9._-]+))(?::(\d{1,5}))?$/.exec(text.trim())
  if (match === null) return undefined
  const [, ipv6, name, digits] = match
  const host = ipv6 ?? name
  const port = digits === undefined ? defaultPort : Number(digits)
  if (host === undefined || port < 1 || port > 65535) return undefined
  if (ipv6 !== undefined && !ipaddr.IPv6.isValid(ipv6)) return undefined
  return { host, port }
}

const parseHosts = (texts: ReadonlyArray<string>, defaultPort: number): Parsed<ReadonlyArray<HostPort>> => {
  const hosts: Array<HostPort> = []
  for (const text of texts) {
    const host = parseHost(text, defaultPort)
    if (host === undefined) {
      return Result.fail(
        "every host as name, name:port or [IPv6 address]:port (in a URL, percent-encode / @ : in the password)",
      )
    }
    hosts.push(host)
  }
  return hosts.length === 0 ? Result.fail("at least one host") : Result.succeed(hosts)
}

const parseDatabase = (text: string | undefined): Parsed<number> =>
  text === undefined || text === ""
    ? Result.succeed(0)
    : /^\d{1,5}$/.test(text)
      ? Result.succeed(Number(text))
      : Result.fail("the database as a whole number")

/** Values with which some client asks for TLS, and those with which it asks for none. */
const TLS_ON = new Set([
  "",
  "true",
  "1",
  "yes",
  "on",
  "require",
  "required",
  "verify-ca",
  "verify-full",
  "verify_ca",
  "verify_full",
])
const TLS_OFF = new Set(["false", "0", "no", "off", "disable", "disabled", "none"])

/** An option by which some client is told about TLS: `ssl`, `tls`, `sslmode`, `ssl_cert_reqs`, `tlsCAFile`, … */
const isAboutTls = (name: string): boolean => /ssl|tls/i.test(name)

/** Options that only turn TLS on or off, in lower case. */
const TLS_SWITCHES = new Set(["ssl", "tls", "sslmode", "tlsmode", "usessl", "usetls", "use_ssl", "use_tls"])

const NO_TLS_OPTION =
  "no option about TLS but ssl=true: certificates are always verified, an own certificate authority is trusted by NODE_EXTRA_CA_CERTS, and a client certificate is not supported"

/** Whether these options ask for TLS; undefined if they do not speak of it. An option that the gate cannot honour is refused. */
const tlsOf = (options: Iterable<readonly [name: string, value: string]>): Parsed<boolean | undefined> => {
  let tls: boolean | undefined
  for (const [name, value] of options) {
    if (!isAboutTls(name)) continue
    if (!TLS_SWITCHES.has(name.toLowerCase())) return Result.fail(NO_TLS_OPTION)
    const word = value.trim().toLowerCase()
    if (!TLS_ON.has(word) && !TLS_OFF.has(word)) return Result.fail("ssl=true or ssl=false")
    const asked = TLS_ON.has(word)
    if (tls !== undefined && tls !== asked) return Result.fail("either ssl=true or ssl=false, not both")
    tls = asked
  }
  return Result.succeed(tls)
}

const percentDecoded = (text: string): string | undefined => {
  try {
    return decodeURIComponent(text)
  } catch {
    return undefined
  }
}

const access = (username: string | undefined, password: string | undefined, tls: boolean): Access => ({
  ...(username === undefined || username === "" ? {} : { username }),
  ...(password === undefined || password === "" ? {} : { password: Redacted.make(password) }),
  tls,
})

const parseAccess = (userInfo: string | undefined, tls: boolean): Parsed<Access> => {
  if (userInfo === undefined) return Result.succeed(access(undefined, undefined, tls))
  const colon = userInfo.indexOf(":")
  if (colon < 0) return Result.fail("user:password or :password before the @")
  const username = percentDecoded(userInfo.slice(0, colon))
  const password = percentDecoded(userInfo.slice(colon + 1))
  return username === undefined || password === undefined
    ? Result.fail("user and password with every % written as %25")
    : Result.succeed(access(username, password, tls))
}

const isKeyPrefix = (name: string): boolean => name.toLowerCase() === "keyprefix"

const keyPrefixOf = (options: Iterable<readonly [name: string, value: string]>): Parsed<Pick<Access, "keyPrefix">> => {
  const [text, ...others] = [...options].flatMap(([name, value]) => (isKeyPrefix(name) ? [value] : []))
  if (text === undefined) return Result.succeed({})
  if (others.length > 0) return Result.fail("keyPrefix once")
  return Result.map(parseKeyPrefix(text), (keyPrefix) => ({ keyPrefix }))
}

/** No @ may follow the hosts: the text before it would be a password whose / or ? ended the hosts too early. */
const URL_FORM = /^(rediss?)(?:\+(sentinel|cluster))?:\/\/(?:([^/?#]*)@)?([^/?#@]*)(?:\/([^?#@]*))?(?:\?([^#@]*))?$/i

const parseUrl = (text: string): Parsed<ParsedConnection> =>
  Result.gen(function* () {
    const match = URL_FORM.exec(text)
    if (match === null) {
      return yield* Result.fail(`${FORMS}; in a URL, percent-encode / ? # @ in the user and the password`)
    }
    const [, scheme = "", kind, userInfo, hostList = "", path = "", query = ""] = match
    const options = new URLSearchParams(query)
    const secure = scheme.toLowerCase() === "rediss"
    const tls = yield* tlsOf(options)
    if (secure && tls === false)
      return yield* Result.fail("rediss:// with TLS, or redis:// without, not rediss:// with ssl=false")
    const allowed = {
      ...(yield* parseAccess(userInfo, secure || tls === true)),
      ...(yield* keyPrefixOf(options)),
    }
    const sentinel = kind?.toLowerCase() === "sentinel"
    const hosts = yield* parseHosts(hostList.split(","), sentinel ? SENTINEL_PORT : REDIS_PORT)
    const known = (name: string): boolean =>
      (sentinel && name === "sentinelPassword") || isKeyPrefix(name) || isAboutTls(name)
    const warnings = [...options.keys()].some((name) => !known(name)) ? ["options after the ? are ignored"] : []

    if (sentinel) {
      const [name = "", database, ...rest] = path.split("/")
      const master = percentDecoded(name)
      if (master === undefined || master === "" || rest.length > 0) {
        return yield* Result.fail(
          "the master's name after the hosts: redis+sentinel://host:port,host:port/master[/database]",
        )
      }
      const sentinelPassword = options.get("sentinelPassword")
      return {
        connection: {
          kind: "sentinel" as const,
          sentinels: hosts,
          master,
          database: yield* parseDatabase(database),
          ...(sentinelPassword === null ? {} : { sentinelPassword: Redacted.make(sentinelPassword) }),
          ...allowed,
        },
        warnings,
      }
    }
    const database = yield* parseDatabase(path)
    if (kind !== undefined) return yield* clusterOf(hosts, database, allowed, warnings)
    const [only, ...others] = hosts
    if (only === undefined || others.length > 0) {
      return yield* Result.fail("one host; several need redis+cluster:// or redis+sentinel://")
    }
    return { connection: { kind: "redis" as const, ...only, database, ...allowed }, warnings }
  })

const clusterOf = (
  nodes: ReadonlyArray<HostPort>,
  database: number,
  allowed: Access,
  warnings: ReadonlyArray<string>,
): Parsed<ParsedConnection> =>
  database === 0
    ? Result.succeed({ connection: { kind: "cluster", nodes, ...allowed }, warnings })
    : Result.fail("no database: a cluster has only database 0")

/** Options of StackExchange.Redis that are ignored, in its spelling. */
const IGNORED_OPTIONS = new Map(
  (
    "abortConnect allowAdmin asyncTimeout channelPrefix checkCertificateRevocation configChannel configCheckSeconds " +
    "connectRetry connectTimeout heartbeatConsistencyChecks heartbeatInterval highIntegrity keepAlive name protocol proxy " +
    "resolveDns responseTimeout setlib syncTimeout tiebreaker tunnel version writeBuffer"
  )
    .split(" ")
    .map((name) => [name.toLowerCase(), name]),
)

const DOTNET_OPTIONS = new Set([
  "password",
  "user",
  "defaultdatabase",
  "servicename",
  "sslhost",
  "keyprefix",
  ...TLS_SWITCHES,
])

/** Any other option may be the rest of a password that contains a comma: it is neither shown nor used. */
const NOT_AN_OPTION =
  "hosts first, then options of StackExchange.Redis, each once (a password that contains a comma needs the redis:// form)"

interface DotNetParts {
  readonly hosts: ReadonlyArray<string>
  readonly options: ReadonlyMap<string, string>
  readonly warnings: ReadonlyArray<string>
}

const dotNetParts = (text: string): Parsed<DotNetParts> => {
  const hosts: Array<string> = []
  const options = new Map<string, string>()
  const warnings: Array<string> = []
  for (const part of text.split(",").map((each) => each.trim())) {
    const equals = part.indexOf("=")
    if (equals < 0) {
      if (options.size > 0 && part !== "") return Result.fail(NOT_AN_OPTION)
      if (TLS_SWITCHES.has(part.toLowerCase())) return Result.fail("ssl=true, not the word alone")
      if (part !== "") hosts.push(part)
      continue
    }
    const name = part.slice(0, equals).trim().toLowerCase()
    const ignored = IGNORED_OPTIONS.get(name)
    if (name === "sslprotocols") return Result.fail("no sslProtocols: TLS 1.2 and 1.3 are used")
    if (options.has(name) || (ignored === undefined && !DOTNET_OPTIONS.has(name))) return Result.fail(NOT_AN_OPTION)
    if (ignored !== undefined) warnings.push(`the option ${ignored} is ignored`)
    options.set(name, part.slice(equals + 1).trim())
  }
  return Result.succeed({ hosts, options, warnings })
}

const parseDotNet = (text: string): Parsed<ParsedConnection> =>
  Result.gen(function* () {
    const { hosts: names, options, warnings } = yield* dotNetParts(text)
    const serverName = options.get("sslhost") ?? ""
    const tls = (yield* tlsOf([...options].filter(([name]) => name !== "sslhost"))) ?? false
    if (serverName !== "" && !tls) return yield* Result.fail("ssl=true with sslHost")
    if (serverName !== "" && parseHost(serverName, 1)?.host !== serverName)
      return yield* Result.fail("sslHost as a host name")
    const master = options.get("servicename") ?? ""
    const defaultPort = master !== "" ? SENTINEL_PORT : tls ? DOTNET_TLS_PORT : REDIS_PORT
    const hosts = yield* parseHosts(names, defaultPort)
    const allowed = {
      ...access(options.get("user"), options.get("password"), tls),
      ...(serverName === "" ? {} : { serverName }),
      ...(yield* keyPrefixOf(options)),
    }
    const database = yield* parseDatabase(options.get("defaultdatabase"))
    if (master !== "") {
      return { connection: { kind: "sentinel" as const, sentinels: hosts, master, database, ...allowed }, warnings }
    }
    const [only, ...others] = hosts
    if (only === undefined || others.length > 0) {
      return { connection: { kind: "hosts" as const, hosts, database, ...allowed }, warnings }
    }
    return { connection: { kind: "redis" as const, ...only, database, ...allowed }, warnings }
  })

/** Parses a connection string; fails with what is expected, without repeating any of the string. */
export const parseConnectionString = (text: string): Result.Result<ParsedConnection, string> => {
  const trimmed = text.trim()
  if (/^memory(:(\/\/)?)?$/i.test(trimmed)) return Result.succeed({ connection: { kind: "memory" }, warnings: [] })
  if (trimmed === "") return Result.fail(FORMS)
  return /^[a-z][a-z0-9+.-]*:\/\//i.test(trimmed) ? parseUrl(trimmed) : parseDotNet(trimmed)
}
