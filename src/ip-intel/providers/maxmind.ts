/**
 * MaxMind's GeoIP Anonymous-IP database: a local `.mmdb` file at the path `IpIntel.BaseUrl`, read into memory. A replaced file is
 * read again within an hour; while that fails, the old data stays in use.
 */
import { readFile, stat } from "node:fs/promises"
import { Clock, Effect, Schedule, type Scope } from "effect"
import type { AnonymousIPResponse, Reader } from "maxmind"
import { parseAddress } from "../../lib/ip/address.ts"
import { failing, IpIntelSetupError, noFacts, type Provider } from "../facts.ts"

const fail = failing("maxmind")

const SETTING = "IpIntel.BaseUrl"
const STALE_AFTER_DAYS = 30
const DAY_MILLIS = 86_400_000

interface Database {
  readonly reader: Reader<AnonymousIPResponse>
  readonly modifiedMillis: number
}

const problem = (path: string, what: string) =>
  new IpIntelSetupError({ setting: SETTING, message: `${SETTING}: ${path}: ${what}` })

const detail = (cause: unknown): string => (cause instanceof Error ? cause.message : String(cause))

const modifiedMillis = (path: string): Effect.Effect<number, IpIntelSetupError> =>
  Effect.tryPromise({
    try: async () => (await stat(path)).mtimeMs,
    catch: (cause) => problem(path, `the database cannot be read (${detail(cause)})`),
  })

const open = Effect.fnUntraced(function* (path: string): Effect.fn.Return<Database, IpIntelSetupError> {
  const modified = yield* modifiedMillis(path)
  const reader = yield* Effect.tryPromise({
    // loaded here, because few gates use it
    try: async () => {
      const { Reader } = await import("maxmind")
      return new Reader<AnonymousIPResponse>(await readFile(path))
    },
    catch: (cause) => problem(path, `not a MaxMind database (${detail(cause)})`),
  })
  // a database of another type contains none of these facts, so every caller would seem clean
  const { databaseType, buildEpoch } = reader.metadata
  if (!databaseType.includes("Anonymous")) {
    return yield* problem(path, `expected an Anonymous-IP database, this one is ${databaseType}`)
  }
  const ageDays = Math.floor(((yield* Clock.currentTimeMillis) - buildEpoch.getTime()) / DAY_MILLIS)
  if (ageDays > STALE_AFTER_DAYS) {
    yield* Effect.logWarning("The MaxMind database is old; VPN and proxy addresses change daily").pipe(
      Effect.annotateLogs({ path, ageDays }),
    )
  }
  return { reader, modifiedMillis: modified }
})

/** Opens the database at `path`; fails when it is missing, unreadable or of another type. */
export const maxmind = Effect.fnUntraced(function* (
  path: string | undefined,
): Effect.fn.Return<Provider, IpIntelSetupError, Scope.Scope> {
  if (path === undefined) {
    return yield* new IpIntelSetupError({
      setting: SETTING,
      message: `${SETTING}: the provider maxmind needs the path of an Anonymous-IP .mmdb file here`,
    })
  }
  let database = yield* open(path)

  yield* Effect.gen(function* () {
    if ((yield* modifiedMillis(path)) === database.modifiedMillis) return
    database = yield* open(path)
    yield* Effect.logInfo("MaxMind database read again").pipe(Effect.annotateLogs({ path }))
  }).pipe(
    Effect.catch((error) => Effect.logWarning(`MaxMind database not refreshed: ${error.message}`)),
    Effect.schedule(Schedule.spaced("1 hour")),
    Effect.forkScoped,
  )

  return {
    name: "maxmind",
    lookup: (address) =>
      Effect.suspend(() => {
        const { reader } = database
        // an IPv4-only database would look up IPv6 by its first 32 bits
        const isCovered = reader.metadata.ipVersion === 6 || parseAddress(address)?.words.length === 1
        if (!isCovered) return fail("rejected", "contains no IPv6 addresses")
        const record = reader.get(address)
        if (record === null) return Effect.succeed(noFacts)
        // the format omits keys that are false
        return Effect.succeed({
          vpn: record.is_anonymous_vpn === true,
          proxy: record.is_public_proxy === true || record.is_residential_proxy === true,
          tor: record.is_tor_exit_node === true,
          datacenter: record.is_hosting_provider === true,
          relay: false,
        })
      }),
  }
})
