/** A Redis that refuses the connection string: the store does not start, and reports why without revealing a secret. */
import { afterAll, assert, beforeAll, describe, it } from "@effect/vitest"
import { Effect, Exit, Layer, Logger, type Scope } from "effect"
import { layer } from "../../../src/store/redis/layer.ts"
import { StoreRefused } from "../../../src/store/redis/problems.ts"
import { NO_CONTEXT } from "../../../src/store/rule.ts"
import { type Rule, Store } from "../../../src/store/Store.ts"
import { eventually } from "../../harness/process.ts"
import { type RedisServer, redisServer, startRedis } from "../../harness/redis.ts"
import { redisCluster } from "../../harness/redis-topologies.ts"
import { answering, connectionTo } from "../../harness/stores.ts"

const PASSWORD = "correct-horse,battery"
const WRONG = "hunter22%25+wrong"

/** Builds the store and returns the outcome and every logged line. */
const built = (url: string) =>
  Effect.gen(function* () {
    const lines: Array<string> = []
    const logger = Logger.make<unknown, void>(({ message }) => void lines.push(String(message)))
    const exit = yield* Effect.exit(
      Effect.scoped(Effect.asVoid(Layer.build(layer(connectionTo(url))))).pipe(Effect.provide(Logger.layer([logger]))),
    )
    const failure = Exit.isFailure(exit)
      ? exit.cause.reasons.find((reason) => reason._tag === "Fail")?.error
      : undefined
    return { exit, lines, refusal: failure instanceof StoreRefused ? failure.message : undefined }
  })

const storeAt = (url: string): Effect.Effect<Store["Service"], StoreRefused, Scope.Scope> =>
  Effect.flatMap(Layer.build(layer(connectionTo(url))), (context) => Effect.provide(Store, context))

const live = (name: string, body: () => Effect.Effect<void, unknown, Scope.Scope>, timeout?: number) =>
  it.live(name, () => Effect.provide(body(), Logger.layer([])), timeout)

describe("the store on a Redis that refuses", () => {
  let open: RedisServer
  let closed: RedisServer
  beforeAll(async () => {
    open = await startRedis()
    closed = await startRedis({ password: PASSWORD })
    await closed.command("acl", "setuser", "app", "on", ">app-pass-word", "~other:*", "+@all")
    await closed.command("acl", "setuser", "small", "on", ">app-pass-word", "~vg:*", "&vg:*", "+@all", "-role", "-info")
  })
  afterAll(async () => {
    await open.dispose()
    await closed.dispose()
  })
  const at = (server: RedisServer, access: string, path = "") => `redis://${access}127.0.0.1:${server.port}${path}`
  const good = encodeURIComponent(PASSWORD)

  it.live.each<[string, () => string, RegExp]>([
    ["a database that it does not have", () => at(open, "", "/99"), /no such database \(SELECT\)/],
    ["a wrong password", () => at(closed, `:${WRONG}@`), /WRONGPASS/],
    ["a wrong user", () => at(closed, `nobody-known:${good}@`), /WRONGPASS/],
    ["no password where one is wanted", () => at(closed, ""), /NOAUTH/],
    ["a password where there is none", () => at(open, `:${WRONG}@`), /none for this user \(AUTH\)/],
    ["a user who may not touch the gate's keys", () => at(closed, "app:app-pass-word@"), /NOPERM/],
  ])("does not start with %s", ([, url, cause]) =>
    Effect.gen(function* () {
      const { lines, refusal } = yield* built(url())
      assert.match(refusal ?? "", cause)
      assert.match(refusal ?? "", /^StoreConnectionString: /)
      for (const secret of [WRONG, decodeURIComponent(WRONG), "hunter22", PASSWORD, "app-pass-word", "nobody-known"]) {
        assert.notInclude(`${refusal} ${lines.join(" ")}`, secret)
      }
      assert.strictEqual(yield* Effect.promise(() => open.command("dbsize")), "0")
    }),
  )

  live("starts with a user who may use the gate's keys and channels but neither INFO nor ROLE", () =>
    Effect.gen(function* () {
      const store = yield* storeAt(at(closed, "small:app-pass-word@"))
      yield* answering(store)
      yield* store.set("vg:x", "1", 1_000)
    }),
  )

  live("does not repeat a password that the server repeats", () =>
    Effect.gen(function* () {
      const server = yield* redisServer({ args: ["--rename-command", "AUTH", "OTHER"] })
      const { exit, lines, refusal } = yield* built(at(server, `:${WRONG}@`))
      assert.notInclude(`${refusal} ${lines.join(" ")} ${Exit.isFailure(exit) ? exit.cause : ""}`, "hunter22")
      assert.match(`${refusal} ${lines.join(" ")}`, /unknown command/)
    }),
  )

  live("keeps a command's arguments out of the errors of the running store", () =>
    Effect.gen(function* () {
      const store = yield* storeAt(at(open, ""))
      yield* answering(store)
      const broken: Rule<object, { readonly text: string }, number> = {
        name: "test.broken",
        run: () => [0],
        lua: "return redis.error_reply('ERR broken')",
        decode: Number,
        batch: false,
      }
      const call = { text: "argument-with-a-caller" }
      const exit = yield* Effect.exit(store.run(broken, { keys: ["{k}"], now: 0, context: NO_CONTEXT, call }))
      assert.isTrue(Exit.isFailure(exit))
      assert.notInclude(JSON.stringify(exit), "argument-with-a-caller")
      if (Exit.isFailure(exit)) {
        const error = exit.cause.reasons.find((reason) => reason._tag === "Fail")?.error
        assert.notInclude(JSON.stringify(error?.cause), "argument-with-a-caller")
        assert.isString(error?.cause)
      }
    }),
  )
})

describe.concurrent("several hosts as .NET lists them", () => {
  const replicaOf = (primary: RedisServer) =>
    Effect.gen(function* () {
      const replica = yield* redisServer({ args: ["--replicaof", "127.0.0.1", String(primary.port)] })
      yield* Effect.promise(() =>
        eventually("the replica's link", async () =>
          (await replica.command("info", "replication")).includes("master_link_status:up"),
        ),
      )
      return replica
    })
  const listOf = (...servers: ReadonlyArray<RedisServer>) => servers.map(({ port }) => `127.0.0.1:${port}`).join(",")

  live("are a primary with its replica: writes go to the primary, also after a failover", () =>
    Effect.gen(function* () {
      const primary = yield* redisServer()
      const replica = yield* replicaOf(primary)
      const store = yield* storeAt(`${listOf(replica, primary)},defaultDatabase=3`)
      yield* answering(store)
      yield* store.set("vg:a", "1", 60_000)
      assert.strictEqual(yield* Effect.promise(() => primary.command("-n", "3", "get", "vg:a")), "1")

      yield* Effect.promise(() => replica.command("replicaof", "no", "one"))
      yield* Effect.promise(() => primary.command("replicaof", "127.0.0.1", String(replica.port)))
      yield* Effect.promise(() =>
        eventually("a write to the new primary", async () => {
          await Effect.runPromise(Effect.ignore(store.set("vg:b", "2", 60_000)))
          return (await replica.command("-n", "3", "get", "vg:b")) === "2"
        }),
      )
    }),
  )

  live("are nodes of a Cluster when INFO says so", () =>
    Effect.gen(function* () {
      const cluster = yield* redisCluster()
      const store = yield* storeAt(listOf(...cluster.nodes))
      yield* answering(store)
      assert.isFalse(store.crossSlot)
      for (const key of ["{a}", "{b}", "{c}"]) {
        yield* store.set(key, key, 1_000)
        assert.strictEqual(yield* store.get(key), key)
      }
      const { refusal } = yield* built(`${listOf(...cluster.nodes)},defaultDatabase=1`)
      assert.match(refusal ?? "", /only database 0/)
    }),
  )

  live("are refused when they are two primaries, only replicas, or a single replica", () =>
    Effect.gen(function* () {
      const primary = yield* redisServer()
      const other = yield* redisServer()
      const replica = yield* replicaOf(primary)
      const second = yield* replicaOf(primary)
      assert.match((yield* built(listOf(primary, other))).refusal ?? "", /separate primaries/)
      assert.match((yield* built(listOf(replica, second))).refusal ?? "", /READONLY/)
      assert.match((yield* built(`redis://127.0.0.1:${replica.port}`)).refusal ?? "", /READONLY/)
      assert.match((yield* built(`${listOf(primary, replica)},password=hunter22`)).refusal ?? "", /none for this user/)
    }),
  )
})
