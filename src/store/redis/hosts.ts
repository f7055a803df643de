/**
 * Several hosts in one connection string, as StackExchange.Redis allows: a primary with its replicas, or nodes of a Cluster.
 * INFO of the servers tells which. Every connect looks for the primary again, so that failovers are followed; replicas are
 * never written to.
 */
import { connect as connectTcp } from "node:net"
import { connect as connectTls } from "node:tls"
import { Effect, Redacted, Schedule } from "effect"
import { AbstractConnector, Redis, type RedisOptions } from "ioredis"
import type { HostPort, RedisConnection } from "../connection-string.ts"
import { describeProblem, isReplica, oneSided, type RedisProblem, refusalOf, type StoreRefused } from "./problems.ts"
import { onStreamError, tlsOptions, tlsProblem } from "./tls.ts"

type Hosts = Extract<RedisConnection, { readonly kind: "hosts" }>

const HOST_TIMEOUT_MILLIS = 2_000
/** How often the hosts are queried again while none answers. */
const ASK_AGAIN = "1 second"

type Answer = { readonly host: HostPort } & (
  | { readonly role: "primary" | "replica" | "cluster" }
  | { readonly role: "troubled"; readonly problem: RedisProblem }
)

/** A host's name in logs and messages. */
export const nameOf = ({ host, port }: HostPort): string => `${host.includes(":") ? `[${host}]` : host}:${port}`

/** Queries one host's role on a separate connection. Never rejects. */
const ask = async (connection: Hosts, host: HostPort): Promise<Answer> => {
  const client = new Redis({
    ...host,
    ...(connection.tls ? { tls: { ...tlsOptions(connection) } } : {}),
    connectTimeout: HOST_TIMEOUT_MILLIS,
    commandTimeout: HOST_TIMEOUT_MILLIS,
    lazyConnect: true,
    // AUTH is sent below, so that a refusal is a result and ioredis does not retry
    enableReadyCheck: false,
    disableClientInfo: true,
    retryStrategy: () => null,
    maxRetriesPerRequest: 0,
  })
  let failure: unknown
  client.on("error", (error) => {
    failure = error
  })
  onStreamError(client, () => {})
  try {
    await client.connect()
    if (connection.password !== undefined) {
      const user = connection.username === undefined ? [] : [connection.username]
      await client.call("AUTH", ...user, Redacted.value(connection.password))
    }
    const info = String(await client.call("INFO"))
    if (/^cluster_enabled:1/m.test(info)) return { host, role: "cluster" }
    return { host, role: /^role:slave/m.test(info) ? "replica" : "primary" }
  } catch (error) {
    const problem = describeProblem(connection)(failure ?? error)
    const fault = problem.kind === "OTHER" ? await tlsProblem(host, tlsOptions(connection)) : undefined
    return { host, role: "troubled", problem: fault === undefined ? problem : oneSided(fault, connection.tls) }
  } finally {
    client.disconnect()
  }
}

const askAll = (connection: Hosts): Promise<ReadonlyArray<Answer>> =>
  Promise.all(connection.hosts.map((host) => ask(connection, host)))

/** A connector of ioredis that finds the primary on every connect. */
export const primaryConnector = (connection: Hosts): NonNullable<RedisOptions["Connector"]> => {
  /** the fallback when no host is a primary: connecting there reveals the problem */
  let lastPrimary = connection.hosts[0]
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
      lastPrimary = answers.find(({ role }) => role === "primary")?.host ?? lastPrimary
      if (!this.connecting || lastPrimary === undefined) throw new Error("Connection is closed.")
      this.stream = connection.tls
        ? connectTls({ ...lastPrimary, ...tlsOptions(connection) })
        : connectTcp({ ...lastPrimary })
      this.stream.on("error", (error) => {
        this.firstError = error
      })
      return this.stream
    }
  }
}

const refuse = (message: string): Effect.Effect<never, StoreRefused> => Effect.fail(refusalOf(message))

/** The connection that the answers amount to; undefined while they are not conclusive. */
const interpret = (
  connection: Hosts,
  answers: ReadonlyArray<Answer>,
): Effect.Effect<RedisConnection | undefined, StoreRefused> => {
  for (const answer of answers) {
    if (answer.role === "troubled" && answer.problem.refused) {
      return refuse(`${nameOf(answer.host)}: ${answer.problem.message}`)
    }
  }
  const namesWith = (role: Answer["role"]) =>
    answers.filter((answer) => answer.role === role).map(({ host }) => nameOf(host))
  if (namesWith("cluster").length > 0) {
    const { database, hosts: nodes, kind: _, ...access } = connection
    if (database !== 0) return refuse("the hosts are a Cluster, which has only database 0")
    return Effect.succeed({ ...access, kind: "cluster", nodes })
  }
  const primaries = namesWith("primary")
  if (primaries.length > 1) {
    return refuse(`${primaries.join(" and ")} are separate primaries: name one primary with its replicas`)
  }
  if (primaries.length === 1) return Effect.succeed(connection)
  return namesWith("troubled").length === 0 ? refuse(isReplica.message) : Effect.undefined
}

/**
 * Finds out whether the hosts are a Cluster or a primary with its replicas; retries until one of them answers. Fails when a host
 * refuses the connection string, or when there is no primary or more than one.
 */
export const identify = (connection: Hosts): Effect.Effect<RedisConnection, StoreRefused> => {
  let lastWarning = ""
  return Effect.gen(function* () {
    const answers = yield* Effect.promise(() => askAll(connection))
    const found = yield* interpret(connection, answers)
    if (found !== undefined) return found
    const problems = answers.flatMap((answer) =>
      answer.role === "troubled" ? [`${nameOf(answer.host)}: ${answer.problem.message}`] : [],
    )
    const message = `No primary of the store can be reached (${problems.join("; ")}); the gate keeps trying.`
    if (message !== lastWarning) yield* Effect.logWarning(message)
    lastWarning = message
    return yield* Effect.fail("again" as const)
  }).pipe(
    Effect.retry({ schedule: Schedule.spaced(ASK_AGAIN), while: (error) => error === "again" }),
    Effect.catchIf(
      (error) => error === "again",
      () => Effect.never,
    ),
  )
}
