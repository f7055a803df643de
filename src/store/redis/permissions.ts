/**
 * Finds out at connect whether this user may send what the gate needs at this server: each command of the rules, on a key and a channel
 * like the gate's. A rule that fails half-way leaves what it has written, so what it needs is tried before the first one runs.
 */
import { createHash } from "node:crypto"
import { Effect } from "effect"
import type { Cluster, Redis } from "ioredis"
import { aclLine, isNodeOfCluster, type RedisProblem, refused } from "./problems.ts"
import { sendCommand } from "./send.ts"

/** What a rule may do (`store/rules/redis/commands.ts`), each command with arguments that change nothing of the gate's. */
export const TRIED: ReadonlyArray<
  readonly [command: string, key: "text" | "hash" | "set" | "", ...args: ReadonlyArray<string>]
> = [
  ["TIME", ""],
  ["SET", "text", "1", "PX", "60000"],
  ["GET", "text"],
  ["HSET", "hash", "a", "1"],
  ["HGET", "hash", "a"],
  ["HMGET", "hash", "a"],
  ["HGETALL", "hash"],
  ["HSCAN", "hash", "0"],
  ["HINCRBY", "hash", "a", "1"],
  ["HDEL", "hash", "a"],
  ["ZADD", "set", "0", "a"],
  ["ZSCORE", "set", "a"],
  ["ZRANK", "set", "a"],
  ["ZCARD", "set"],
  ["ZRANGE", "set", "0", "0"],
  ["ZRANGEBYSCORE", "set", "0", "0"],
  ["ZRANGEBYLEX", "set", "-", "+"],
  ["ZCOUNT", "set", "0", "0"],
  ["ZREM", "set", "a"],
  ["ZREMRANGEBYSCORE", "set", "0", "0"],
  ["ZREMRANGEBYRANK", "set", "0", "0"],
  ["PEXPIRE", "set", "60000"],
  ["DEL", "text"],
  ["DEL", "hash"],
  ["DEL", "set"],
]

const KEYS: ReadonlyArray<string> = ["text", "hash", "set"]
const keyOf = (name: string): string => `vg:2:{probe}:${name}`
const CHANNEL = "vg:i:probe"

const quoted = (key: string, args: ReadonlyArray<string>): string =>
  [...(key === "" ? [] : [`KEYS[${KEYS.indexOf(key) + 1}]`]), ...args.map((arg) => `"${arg}"`)]
    .map((arg) => `, ${arg}`)
    .join("")

/** Tries every command. Returns a list: name of a command that failed, its error, and so on. */
const SCRIPT = `local failed = {}
local function try(name, ...)
  local reply = redis.pcall(name, ...)
  if type(reply) == "table" and reply.err then
    failed[#failed + 1] = name
    failed[#failed + 1] = reply.err
  end
end
${TRIED.map(([command, key, ...args]) => `try("${command}"${quoted(key, args)})`).join("\n")}
try("PUBLISH", ARGV[1], "")
return failed
`
const DIGEST = createHash("sha1").update(SCRIPT).digest("hex")

/** Runs a command; its name and error when the server refuses it, else nothing. Other errors are passed on. */
const refusalOf = (
  name: string,
  send: Parameters<typeof sendCommand>[0],
): Effect.Effect<ReadonlyArray<readonly [string, string]>, Error> =>
  sendCommand(send).pipe(
    Effect.map((reply) => {
      const failed = Array.isArray(reply) && name === "EVALSHA" ? reply.map(String) : []
      return failed.flatMap((command, i) => (i % 2 === 0 ? [[command, failed[i + 1] ?? ""] as const] : []))
    }),
    Effect.catchIf(
      (error) => error.name === "ReplyError",
      (error) => Effect.succeed([[name, error.message] as const]),
    ),
  )

const isForbidden = (error: string): boolean => /NOPERM|can't run this command|can't access|ACL failure/i.test(error)
const isUnknown = (error: string): boolean => /unknown (?:redis )?command|Unknown .* command/i.test(error)

const names = (failed: ReadonlyArray<readonly [string, string]>): string =>
  [...new Set(failed.map(([command]) => command))].join(", ")

/**
 * Fails with what the user or the server lacks.
 *
 * @param prefix that of the gate's channels; that of its keys is the client's
 */
export const tryCommands = (
  client: Redis | Cluster,
  describe: (error: unknown) => RedisProblem,
  prefix = "",
): Effect.Effect<void, RedisProblem> =>
  Effect.gen(function* () {
    const keys = KEYS.map(keyOf)
    const one = keyOf("text")
    const channel = prefix + CHANNEL
    // one after the other on the connection: EVALSHA finds the script that EVAL has brought
    const failed = (yield* Effect.all(
      [
        refusalOf("EVAL", (done) => client.eval(SCRIPT, keys.length, ...keys, channel, done)),
        refusalOf("EVALSHA", (done) => client.evalsha(DIGEST, keys.length, ...keys, channel, done)),
        refusalOf("SET", (done) => client.set(one, "", "PX", 1, done)),
        refusalOf("GET", (done) => client.get(one, done)),
        refusalOf("SCRIPT EXISTS", (done) => client.call("SCRIPT", "EXISTS", DIGEST, done)),
        refusalOf("SCRIPT LOAD", (done) => client.call("SCRIPT", "LOAD", SCRIPT, done)),
        refusalOf("PUBLISH", (done) => client.publish(channel, "", done)),
      ],
      { concurrency: "unbounded" },
    ).pipe(Effect.mapError(describe))).flat()
    const missing = failed.filter(([name, error]) => !(name === "EVALSHA" && error.startsWith("NOSCRIPT")))
    const [first] = missing
    if (first === undefined) return
    const forbidden = missing.filter(([, error]) => isForbidden(error))
    if (forbidden.length > 0) {
      const what = `the user lacks permissions for ${names(forbidden)} on keys and channels that begin with ${prefix}vg: (NOPERM)`
      return yield* Effect.fail(refused("NOPERM", `${what}: give it ${aclLine(prefix)}`))
    }
    const unknown = missing.filter(([, error]) => isUnknown(error))
    if (unknown.length > 0) {
      const what = `the server has renamed or disabled ${names(unknown)}, which the gate needs`
      return yield* Effect.fail(refused("UNKNOWN", `${what}: undo its rename-command, or use another server`))
    }
    // such as a server without memory, or a replica
    return yield* Effect.fail(describe(new Error(first[1])))
  })

/** Fails when a server that is named alone is a node of a Cluster. One that tells neither by INFO nor by CLUSTER INFO passes. */
export const refuseNode = (client: Redis): Effect.Effect<void, RedisProblem> => {
  const info = sendCommand((done) => client.call("INFO", "cluster", done))
  const clusterInfo = sendCommand((done) => client.call("CLUSTER", "INFO", done))
  return info.pipe(
    Effect.map((text) => /^cluster_enabled:1/m.test(String(text))),
    // answered with an error where there is no Cluster
    Effect.catch(() => Effect.as(clusterInfo, true)),
    Effect.orElseSucceed(() => false),
    Effect.flatMap((isNode) => (isNode ? Effect.fail(isNodeOfCluster) : Effect.void)),
  )
}
