/**
 * Several hosts in one connection string, as StackExchange.Redis allows them: a primary with its replicas, or nodes of a
 * Cluster. The servers say which (INFO). The primary is looked for again on every connect, so that a failover is followed;
 * replicas are never written to.
 */
import { connect as connectTcp } from "node:net"
import { connect as connectTls } from "node:tls"
import { Effect, Redacted, Schedule } from "effect"
import { AbstractConnector, Redis, type RedisOptions } from "ioredis"
import type { HostPort, RedisConnection } from "../settings/connection-string.ts"
import { isReplica, StoreRefused, type Trouble, troubleOf } from "./redis-trouble.ts"

type Hosts = Extract<RedisConnection, { readonly kind: "hosts" }>

const HOST_TIMEOUT_MILLIS = 2_000
/** How often hosts are asked again while none of them says what they are. */
const ASK_AGAIN = "1 second"

/** What one host says of itself. */
type Answer = { readonly host: HostPort } & (
  | { readonly is: "primary" | "replica" | "cluster" }
  | { readonly is: "troubled"; readonly trouble: Trouble }
)

/** A host as logs and messages name it. */
export const nameOf = ({ host, port }: HostPort): string => `${host.includes(":") ? `[${host}]` : host}:${port}`

/** Asks one host what it is, on a connection of its own. Never rejects. */
const ask = async (connection: Hosts, host: HostPort): Promise<Answer> => {
  const client = new Redis({
    ...host,
    ...(connection.tls ? { tls: {} } : {}),
    connectTimeout: HOST_TIMEOUT_MILLIS,
    commandTimeout: HOST_TIMEOUT_MILLIS,
    lazyConnect: true,
    // AUTH is sent below, so that its refusal is an answer and not a reason to try again
    enableReadyCheck: false,
    disableClientInfo: true,
    retryStrategy: () => null,
    maxRetriesPerRequest: 0,
  })
  let failure: unknown
  client.on("error", (error) => {
    failure = error
  })
  try {
    await client.connect()
    if (connection.password !== undefined) {
      const user = connection.username === undefined ? [] : [connection.username]
      await client.call("AUTH", ...user, Redacted.value(connection.password))
    }
    const info = String(await client.call("INFO"))
    if (/^cluster_enabled:1/m.test(info)) return { host, is: "cluster" }
    return { host, is: /^role:slave/m.test(info) ? "replica" : "primary" }
  } catch (error) {
    return { host, is: "troubled", trouble: troubleOf(connection)(failure ?? error) }
  } finally {
    client.disconnect()
  }
}

const askAll = (connection: Hosts): Promise<ReadonlyArray<Answer>> =>
  Promise.all(connection.hosts.map((host) => ask(connection, host)))

/** A connector of ioredis that goes to whichever host is the primary when it connects. */
export const primaryConnector = (connection: Hosts): NonNullable<RedisOptions["Connector"]> => {
  /** where to go when no host says that it is the primary: what is wrong comes out there */
  let last = connection.hosts[0]
  return class extends AbstractConnector {
    constructor(options: unknown) {
      super(
        typeof options === "object" &&
          options !== null &&
          "disconnectTimeout" in options &&
          typeof options.disconnectTimeout === "number"
          ? options.disconnectTimeout
          : HOST_TIMEOUT_MILLIS,
      )
    }
    async connect() {
      this.connecting = true
      const answers = await askAll(connection)
      last = answers.find(({ is }) => is === "primary")?.host ?? last
      if (!this.connecting || last === undefined) throw new Error("Connection is closed.")
      this.stream = connection.tls ? connectTls({ ...last }) : connectTcp({ ...last })
      this.stream.once("error", (error) => {
        this.firstError = error
      })
      return this.stream
    }
  }
}

const refuse = (message: string): Effect.Effect<never, StoreRefused> =>
  Effect.fail(new StoreRefused({ message: `StoreConnectionString: ${message}.` }))

/** What the answers mean together; undefined when it cannot be said yet. */
const judge = (
  connection: Hosts,
  answers: ReadonlyArray<Answer>,
): Effect.Effect<RedisConnection | undefined, StoreRefused> => {
  for (const answer of answers) {
    if (answer.is === "troubled" && answer.trouble.refused) {
      return refuse(`${nameOf(answer.host)}: ${answer.trouble.message}`)
    }
  }
  const those = (is: Answer["is"]) => answers.filter((answer) => answer.is === is).map(({ host }) => nameOf(host))
  if (those("cluster").length > 0) {
    const { database, hosts: nodes, kind: _, ...access } = connection
    if (database !== 0) return refuse("the hosts are a Cluster, which has no database but 0")
    return Effect.succeed({ ...access, kind: "cluster", nodes })
  }
  const primaries = those("primary")
  if (primaries.length > 1) {
    return refuse(`${primaries.join(" and ")} are each a primary of their own: name one primary with its replicas`)
  }
  if (primaries.length === 1) return Effect.succeed(connection)
  return those("troubled").length === 0 ? refuse(isReplica.message) : Effect.undefined
}

/**
 * Asks the hosts whether they are a Cluster or a primary with its replicas, again and again until one of them answers. Fails when
 * a host refuses the connection string, or when there is no primary or more than one.
 */
export const identify = (connection: Hosts): Effect.Effect<RedisConnection, StoreRefused> => {
  let said = ""
  return Effect.gen(function* () {
    const answers = yield* Effect.promise(() => askAll(connection))
    const found = yield* judge(connection, answers)
    if (found !== undefined) return found
    const troubles = answers.flatMap((answer) =>
      answer.is === "troubled" ? [`${nameOf(answer.host)}: ${answer.trouble.message}`] : [],
    )
    const message = `No primary of the store can be reached (${troubles.join("; ")}); trying again until one can.`
    if (message !== said) yield* Effect.logWarning(message)
    said = message
    return yield* Effect.fail("again" as const)
  }).pipe(
    Effect.retry({ schedule: Schedule.spaced(ASK_AGAIN), while: (error) => error === "again" }),
    Effect.catchIf(
      (error) => error === "again",
      () => Effect.never,
    ),
  )
}
