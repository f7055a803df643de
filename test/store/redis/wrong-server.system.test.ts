/** `check` and the start of a gate against each wrong Redis: both say what is wrong, and how it is mended. */
import { execFile } from "node:child_process"
import { mkdtemp, readFile, rm } from "node:fs/promises"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { getCACertificates, setDefaultCACertificates } from "node:tls"
import { promisify } from "node:util"
import { afterAll, assert, describe, it } from "@effect/vitest"
import { Effect, Exit, Layer, Logger, Redacted, type Scope } from "effect"
import { checkStore } from "../../../src/cli/check/store.ts"
import { layer } from "../../../src/store/redis/layer.ts"
import { TRIED } from "../../../src/store/redis/permissions.ts"
import { StoreRefused } from "../../../src/store/redis/problems.ts"
import { eventually, freePort } from "../../harness/process.ts"
import { type RedisServer, redisServer } from "../../harness/redis.ts"
import { redisCluster } from "../../harness/redis-topologies.ts"
import { connectionTo } from "../../harness/stores.ts"

const table: Array<string> = []

/** What `check` says of it, and why a gate does not start; `starts` if it does. */
const outcomes = (url: string) =>
  Effect.gen(function* () {
    const store = Layer.unwrap(Effect.sync(() => layer(connectionTo(url))))
    const checked = yield* checkStore({ StoreConnectionString: Redacted.make(url) }, store)
    const exit = yield* Effect.exit(Effect.scoped(Effect.asVoid(Layer.build(store))))
    const failure = Exit.isFailure(exit)
      ? exit.cause.reasons.find((reason) => reason._tag === "Fail")?.error
      : undefined
    return { checked, started: failure instanceof StoreRefused ? failure.message : "starts" }
  })

const test = (name: string, body: () => Effect.Effect<void, unknown, Scope.Scope>) =>
  it.live(name, () => Effect.provide(Effect.scoped(body()), Logger.layer([])), 120_000)

/** Both refuse, with the same words. */
const refuses = (what: string, url: string, words: RegExp) =>
  Effect.gen(function* () {
    const { checked, started } = yield* outcomes(url)
    table.push(`| ${what} | ${checked.status}: ${checked.message.replace("StoreConnectionString: ", "")} |`)
    assert.strictEqual(checked.status, "failed", what)
    assert.match(checked.message, words, what)
    assert.match(started, words, `${what}, at the start`)
  })

const command = (server: RedisServer, ...args: ReadonlyArray<string>) => Effect.promise(() => server.command(...args))

/** The shortest list of commands for a user of the gate, as `src/docs/redis.md` has it. */
const MINIMAL = [
  ...new Set(TRIED.map(([name]) => name.toLowerCase())),
  ...["publish", "subscribe", "unsubscribe", "eval", "evalsha", "script|load", "script|exists", "select", "ping"],
]

describe("check, and the start of a gate", () => {
  test("refuse a Redis without EVAL, and work on one without INFO, and without ROLE", () =>
    Effect.gen(function* () {
      const noEval = yield* redisServer({ args: ["--rename-command", "EVAL", ""] })
      yield* refuses("EVAL renamed", noEval.url, /renamed or disabled EVAL/)
      const noHincrby = yield* redisServer({ args: ["--rename-command", "HINCRBY", "other"] })
      yield* refuses("HINCRBY renamed", noHincrby.url, /renamed or disabled HINCRBY/)
      for (const name of ["INFO", "ROLE"]) {
        const without = yield* redisServer({ args: ["--rename-command", name, "other"] })
        const { checked, started } = yield* outcomes(without.url)
        assert.deepStrictEqual([checked.status, started], ["ok", "starts"], checked.message)
        table.push(`| ${name} renamed | ${checked.status} |`)
      }
    }))

  test("refuse a user who may not use the gate's channels, or its keys, and one who lacks any command of the documented list", () =>
    Effect.gen(function* () {
      const server = yield* redisServer()
      const url = `redis://app:pw@127.0.0.1:${server.port}`
      const user = (...rules: ReadonlyArray<string>) =>
        command(server, "acl", "setuser", "app", "reset", "on", ">pw", ...rules)
      const all = MINIMAL.map((name) => `+${name}`)
      yield* user("~vg:*", "&vg:*", ...all)
      assert.deepStrictEqual((yield* outcomes(url)).started, "starts")
      yield* user("~vg:*", "&vg:*", "+@all", "-@dangerous", "+info", "+role")
      assert.deepStrictEqual((yield* outcomes(url)).checked.status, "ok")
      yield* user("~vg:*", "+@all")
      yield* refuses("ACL without &vg:*", url, /PUBLISH.*NOPERM.*give it ~vg:\* &vg:\*/)
      yield* user("~other:*", "&vg:*", "+@all")
      yield* refuses("ACL without ~vg:*", url, /NOPERM.*give it ~vg:\* &vg:\*/)
      // without them a gate can do nothing else, or nothing at all
      for (const name of MINIMAL.filter((each) => !["unsubscribe", "ping"].includes(each))) {
        yield* user("~vg:*", "&vg:*", ...all, `-${name}`)
        yield* refuses(`ACL without ${name}`, url, /NOPERM.*give it ~vg:\* &vg:\*/)
      }
    }))

  test("refuse a replica, and a node of a Cluster that is named alone", () =>
    Effect.gen(function* () {
      const primary = yield* redisServer()
      const replica = yield* redisServer({ args: ["--replicaof", "127.0.0.1", String(primary.port)] })
      yield* Effect.promise(() =>
        eventually("the replica's link", async () =>
          (await replica.command("info", "replication")).includes("master_link_status:up"),
        ),
      )
      yield* refuses("a replica", replica.url, /READONLY.*name the primary/)
      const cluster = yield* redisCluster()
      for (const { port, url } of cluster.nodes) {
        yield* refuses(`one address of a Cluster`, url, /node of a Cluster: use redis\+cluster:\/\//)
        const { started } = yield* outcomes(`127.0.0.1:${port}`)
        assert.match(started, /use redis\+cluster/)
      }
      assert.deepStrictEqual((yield* outcomes(cluster.url)).started, "starts")
    }))

  test("report a Redis that evicts, also when its settings are hidden", () =>
    Effect.gen(function* () {
      for (const policy of ["allkeys-lru", "volatile-ttl"]) {
        const server = yield* redisServer({
          args: ["--maxmemory", "100mb", "--maxmemory-policy", policy, "--rename-command", "CONFIG", ""],
        })
        const { checked, started } = yield* outcomes(server.url)
        table.push(`| ${policy} | ${checked.status}: ${checked.message.replace("StoreConnectionString: ", "")} |`)
        assert.strictEqual(checked.status, "failed")
        assert.match(checked.message, new RegExp(`maxmemory-policy ${policy}.*set maxmemory-policy noeviction`))
        // it works until its memory is full
        assert.strictEqual(started, "starts")
      }
    }))
})

/** A certificate of its own authority, for these names. */
const certificate = (names: string) =>
  Effect.acquireRelease(
    Effect.promise(async () => {
      const dir = await mkdtemp(join(tmpdir(), "voicegate-wrong-"))
      const [key, cert] = [join(dir, "key.pem"), join(dir, "cert.pem")]
      const args = ["req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes", "-days", "1"]
      await promisify(execFile)("openssl", [
        ...args,
        "-subj",
        "/CN=test",
        "-addext",
        `subjectAltName=${names}`,
        "-keyout",
        key,
        "-out",
        cert,
      ])
      return { dir, key, cert }
    }),
    ({ dir }) => Effect.promise(() => rm(dir, { recursive: true })),
  )

/** This process trusts the certificate for as long as the scope is open. */
const trusting = (cert: string) =>
  Effect.acquireRelease(
    Effect.promise(async () => {
      const trusted = getCACertificates("default")
      setDefaultCACertificates([...trusted, (await readFile(cert)).toString()])
      return trusted
    }),
    (trusted) => Effect.sync(() => setDefaultCACertificates(trusted)),
  )

describe("check, and the start of a gate, where TLS is the fault", () => {
  test("say that TLS is the fault, on either side", () =>
    Effect.gen(function* () {
      const { cert, key } = yield* certificate("DNS:other.example")
      const plain = yield* redisServer()
      const silent = yield* outcomes(`rediss://127.0.0.1:${plain.port}`)
      assert.match(silent.checked.message, /does not speak TLS on this port/)
      table.push(`| TLS to a plain port | ${silent.checked.message} |`)
      const files = ["--tls-cert-file", cert, "--tls-key-file", key, "--tls-ca-cert-file", cert]
      const [open, strict] = [yield* Effect.promise(freePort), yield* Effect.promise(freePort)]
      yield* redisServer({ args: [...files, "--tls-port", String(open), "--tls-auth-clients", "no"] })
      yield* redisServer({ args: [...files, "--tls-port", String(strict)] })
      yield* refuses("no TLS to a TLS port", `redis://127.0.0.1:${open}`, /speaks TLS on this port: use rediss:/)
      yield* refuses(
        "no TLS to a TLS port, in .NET's form",
        `127.0.0.1:${open},127.0.0.1:${open}`,
        /speaks TLS on this port/,
      )
      yield* refuses(
        "an unknown authority",
        `rediss://127.0.0.1:${open}`,
        /authority that this machine does not know.*NODE_EXTRA_CA_CERTS/,
      )
      yield* trusting(cert)
      yield* refuses("a certificate for another name", `redis://127.0.0.1:${open}?ssl=true`, /for another name \(TLS\)/)
      // the server closes before its reason is read, so a gate may learn it only from a further try
      const demanding = yield* outcomes(`127.0.0.1:${strict},ssl=true,sslHost=other.example`)
      assert.match(demanding.checked.message, /demands a client certificate/)
      table.push(`| a client certificate is demanded | ${demanding.checked.message} |`)
      const named = yield* outcomes(`127.0.0.1:${open},ssl=true,sslHost=other.example`)
      assert.deepStrictEqual([named.checked.status, named.started], ["ok", "starts"], named.checked.message)
    }))
})

describe("a Cluster whose certificates have names only", () => {
  test("is used by its names", () =>
    Effect.gen(function* () {
      const { cert, key } = yield* certificate("DNS:localhost")
      yield* trusting(cert)
      const ports: Array<number> = []
      yield* redisCluster(3, async () => {
        const port = await freePort()
        ports.push(port)
        return [
          ...["--tls-port", String(port), "--tls-cert-file", cert, "--tls-key-file", key, "--tls-ca-cert-file", cert],
          ...["--tls-auth-clients", "no", "--tls-cluster", "yes", "--cluster-announce-hostname", "localhost"],
          ...["--cluster-preferred-endpoint-type", "hostname"],
        ]
      })
      const { checked, started } = yield* outcomes(
        `rediss+cluster://${ports.map((port) => `localhost:${port}`).join(",")}`,
      )
      assert.deepStrictEqual([checked.status, started], ["ok", "starts"], checked.message)
      yield* refuses(
        "a name that the certificates of a Cluster lack",
        `rediss+cluster://127.0.0.1:${ports[0]}`,
        /for another name/,
      )
    }))
})

afterAll(() => console.log(table.join("\n")))
