/** Several real Redis servers for tests: a cluster, or a master and its replica behind Sentinels. */
import { execFile } from "node:child_process"
import { writeFile } from "node:fs/promises"
import { join } from "node:path"
import { promisify } from "node:util"
import { Effect } from "effect"
import { eventually, freePort } from "./process.ts"
import { type RedisServer, serve, startRedis } from "./redis.ts"

const run = promisify(execFile)

const disposeAll = async (servers: ReadonlyArray<{ readonly dispose: () => Promise<void> }>): Promise<void> => {
  await Promise.all(servers.map((server) => server.dispose()))
}

/** Starts all or none. */
const startAll = async (starts: ReadonlyArray<Promise<RedisServer>>): Promise<ReadonlyArray<RedisServer>> => {
  const results = await Promise.allSettled(starts)
  const servers = results.flatMap((result) => (result.status === "fulfilled" ? [result.value] : []))
  const failed = results.find((result) => result.status === "rejected")
  if (failed === undefined) return servers
  await disposeAll(servers)
  throw failed.reason
}

export interface RedisCluster {
  readonly nodes: ReadonlyArray<RedisServer>
  /** `redis+cluster://…` */
  readonly url: string
  /** the node that serves this key now */
  readonly masterOf: (key: string) => Promise<RedisServer>
  readonly dispose: () => Promise<void>
}

/** On a busy machine the nodes of a new cluster take each other for failed again and again: their timeout is two seconds. */
const JOINED_WITHIN_MILLIS = 60_000

/**
 * Starts a cluster of masters (Redis requires at least three), each with this many replicas.
 *
 * @param more further options of each node
 */
export const startCluster = async (
  masters = 3,
  replicas = 0,
  more: () => Promise<ReadonlyArray<string>> = async () => [],
): Promise<RedisCluster> => {
  const count = masters * (1 + replicas)
  const nodes = await startAll(
    Array.from({ length: count }, async () => {
      // the default bus port, 10000 above, may not be a valid port
      const bus = String(await freePort())
      const args = ["--cluster-enabled", "yes", "--cluster-port", bus, "--cluster-node-timeout", "2000"]
      return startRedis({ args: [...args, "--cluster-config-file", "nodes.conf", ...(await more())] })
    }),
  )
  const hosts = nodes.map(({ port }) => `127.0.0.1:${port}`)
  try {
    await run("redis-cli", ["--cluster", "create", ...hosts, "--cluster-replicas", String(replicas), "--cluster-yes"])
    const agrees = async (node: RedisServer): Promise<boolean> => {
      const info = await node.command("cluster", "info")
      return info.includes("cluster_state:ok") && info.includes(`cluster_known_nodes:${count}`)
    }
    for (const node of nodes) await eventually("the cluster's agreement", () => agrees(node), JOINED_WITHIN_MILLIS)
    const linked = async (): Promise<boolean> => {
      const roles = await Promise.all(nodes.map((node) => node.command("role")))
      return (
        roles.filter((role) => role.startsWith("slave") && role.includes("connected")).length === masters * replicas
      )
    }
    await eventually("the replicas' links", linked, JOINED_WITHIN_MILLIS)
  } catch (error) {
    await disposeAll(nodes)
    throw error
  }
  const masterOf = async (key: string): Promise<RedisServer> => {
    const [first] = nodes
    if (first === undefined) throw new Error("there is no node")
    const slot = Number(await first.command("cluster", "keyslot", key))
    for (const line of (await first.command("cluster", "nodes")).split("\n")) {
      const [, address = "", flags = "", , , , , , ...ranges] = line.split(" ")
      const serves = ranges.some((range) => {
        const [from, to = from] = range.split("-").map(Number)
        return slot >= Number(from) && slot <= Number(to)
      })
      const port = Number(/:(\d+)@/.exec(address)?.[1])
      const node = nodes.find((each) => each.port === port)
      if (flags.includes("master") && serves && node !== undefined) return node
    }
    throw new Error(`nobody serves ${key}`)
  }
  return { nodes, url: `redis+cluster://${hosts.join(",")}`, masterOf, dispose: () => disposeAll(nodes) }
}

export interface RedisSentinels {
  /** the master at the start; after a failover it is the replica */
  readonly master: RedisServer
  readonly replica: RedisServer
  readonly sentinels: ReadonlyArray<RedisServer>
  /** `redis+sentinel://…/mymaster` */
  readonly url: string
  /** the port of the current master, according to the Sentinels */
  readonly masterPort: () => Promise<number>
  /** waits until the replica has all that the master has accepted so far */
  readonly replicated: () => Promise<void>
  readonly dispose: () => Promise<void>
}

/** A number of `INFO replication`. */
const replicationOffset = async (server: RedisServer, name: string): Promise<number> =>
  Number(new RegExp(`^${name}:(\\d+)`, "m").exec(await server.command("info", "replication"))?.[1])

/** Waits until the replica has all that the master has accepted so far. WAIT from redis-cli would wait for what redis-cli wrote. */
export const replicated = async (master: RedisServer, replica: RedisServer): Promise<void> => {
  const accepted = await replicationOffset(master, "master_repl_offset")
  await eventually(
    "the replica has what the master accepted",
    async () => (await replicationOffset(replica, "slave_repl_offset")) >= accepted,
  )
}

/**
 * Starts a master with one replica and Sentinels.
 *
 * @param downAfterMillis how long a master must be silent before they fail over; a busy machine silences a healthy one for over 500 ms
 */
export const startSentinel = async (count = 3, downAfterMillis = 2_000): Promise<RedisSentinels> => {
  const master = await startRedis()
  const started: Array<RedisServer> = [master]
  const dispose = () => disposeAll(started)
  try {
    const replica = await startRedis({ args: ["--replicaof", "127.0.0.1", String(master.port)] })
    started.push(replica)
    await eventually("the replica's link", async () => (await replica.command("role")).includes("connected"))
    const sentinels = await startAll(
      Array.from({ length: count }, () => startOneSentinel(master.port, count, downAfterMillis)),
    )
    started.push(...sentinels)
    for (const sentinel of sentinels) {
      await eventually("the Sentinels' view", async () => {
        const info = await sentinel.command("info", "sentinel")
        return info.includes("status=ok") && info.includes(`slaves=1,sentinels=${count}`)
      })
    }
    return {
      master,
      replica,
      sentinels,
      url: `redis+sentinel://${sentinels.map(({ port }) => `127.0.0.1:${port}`).join(",")}/mymaster`,
      masterPort: async () => {
        const [first] = sentinels
        if (first === undefined) throw new Error("there is no Sentinel")
        const [, port] = (await first.command("sentinel", "get-master-addr-by-name", "mymaster")).split("\n")
        return Number(port)
      },
      replicated: () => replicated(master, replica),
      dispose,
    }
  } catch (error) {
    await dispose()
    throw error
  }
}

/** A Sentinel rewrites its configuration, so each has its own file. */
const startOneSentinel = (masterPort: number, count: number, downAfterMillis: number): Promise<RedisServer> =>
  serve(async (dir) => {
    const file = join(dir, "sentinel.conf")
    await writeFile(
      file,
      [
        `sentinel monitor mymaster 127.0.0.1 ${masterPort} ${Math.floor(count / 2) + 1}`,
        `sentinel down-after-milliseconds mymaster ${downAfterMillis}`,
        "sentinel failover-timeout mymaster 2000",
        "",
      ].join("\n"),
    )
    return [file, "--sentinel"]
  })

/** A cluster for the lifetime of the scope. */
export const redisCluster = (masters?: number, more?: () => Promise<ReadonlyArray<string>>) =>
  Effect.acquireRelease(
    Effect.promise(() => startCluster(masters, 0, more)),
    (cluster) => Effect.promise(() => cluster.dispose()),
  )

/** A master, its replica and Sentinels for the lifetime of the scope. */
export const redisSentinels = (count?: number) =>
  Effect.acquireRelease(
    Effect.promise(() => startSentinel(count)),
    (sentinels) => Effect.promise(() => sentinels.dispose()),
  )
