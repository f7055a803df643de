/**
 * Push clients that stop reading, by WebSocket and Server-Sent Events: they are dropped, and others are served as
 * before.
 */
import { readFileSync } from "node:fs"
import { get } from "node:http"
import type { Socket as TcpSocket } from "node:net"
import { setTimeout as sleep } from "node:timers/promises"
import { WebSocket } from "ws"
import { ask, textOf } from "../../harness/http.ts"
import { eventually } from "../../harness/process.ts"
import { startRedis } from "../../harness/redis.ts"
import { inWords, judge, peaksInWords } from "../support/judge.ts"
import { seconds } from "../support/order.ts"
import { makeRig } from "../support/rig.ts"
import type { Scenario } from "../support/scenario.ts"

const SIZES = { small: { callers: 40, slow: 50, slots: 4 }, full: { callers: 200, slow: 400, slots: 5 } }
/**
 * The gate pings every 15 s and drops a connection that has not answered by the second ping. A connection whose ticket
 * has ended gets 30 s more to close. Twice that, for a busy machine.
 */
const DROPPED_BY_MILLIS = 120_000

/** The resident memory of a process, in MB. */
const residentOf = (pid: number): number =>
  Number(/^VmRSS:\s+(\d+) kB$/m.exec(readFileSync(`/proc/${pid}/status`, "utf8"))?.[1]) / 1024

interface Slow {
  readonly kind: "WebSocket" | "SSE"
  readonly port: number
  readonly dispose: () => void
}

/** Opens the ticket's WebSocket, requests more than it will ever read, and stops reading. */
const slowSocket = (url: string, ticket: string, headers: Record<string, string>): Promise<Slow> =>
  new Promise((resolve, reject) => {
    const socket = new WebSocket(`${url.replace(/^http/, "ws")}/api/session/${ticket}/events`, { headers })
    let tcp: TcpSocket | undefined
    socket.on("upgrade", (response) => {
      tcp = response.socket
    })
    socket.on("error", reject)
    socket.on("open", () => {
      socket.off("error", reject)
      socket.on("error", () => {})
      tcp?.pause()
      for (let n = 0; n < 100; n++) socket.send('{"type":"?"}')
      resolve({ kind: "WebSocket", port: tcp?.localPort ?? 0, dispose: () => socket.terminate() })
    })
  })

const slowEvents = (url: string, ticket: string, headers: Record<string, string>): Promise<Slow> =>
  new Promise((resolve, reject) => {
    const request = get(`${url}/api/session/${ticket}/events`, { agent: false, headers }, (response) => {
      response.pause()
      response.on("error", () => {})
      resolve({ kind: "SSE", port: response.socket.localPort ?? 0, dispose: () => request.destroy() })
    })
    request.on("error", reject)
  })

/** The peers' ports of the open connections at this port, as the system lists them. */
const peersOf = (port: number): ReadonlySet<number> => {
  const hex = (part = ""): number => Number.parseInt(part.split(":")[1] ?? "", 16)
  return new Set(
    readFileSync("/proc/net/tcp", "utf8")
      .split("\n")
      .flatMap((line) => {
        const [, local, remote, state] = line.trim().split(/\s+/)
        return state === "01" && hex(local) === port ? [hex(remote)] : []
      }),
  )
}

export const slowReaders: Scenario = {
  name: "slow-readers",
  run: async (size, seed, bench) => {
    const { callers, slots, slow } = SIZES[size]
    const redis = bench.own(await startRedis())
    const settings = { Queue__StartWindowSeconds: "2", Queue__DisconnectGraceSeconds: "3" }
    const rig = await makeRig({ seed, bench, storeUrl: redis.url, gates: 1, slots, startMillis: 50, settings })
    const [seat] = rig.seats
    if (seat === undefined) throw new Error("there is a gate")
    const pid = seat.gate().pid
    // all slots are taken by a few long calls, so everybody waits
    const first = rig.crowd({ callers: slots, arriveMillis: 1, talkMillis: [8_000, 10_000] })
    await eventually("all slots are taken", () => rig.platform.running() === slots)
    const idle = residentOf(pid)
    const clients: Array<Slow> = []
    bench.own({
      dispose: async () => {
        for (const client of clients) client.dispose()
      },
    })
    for (let n = 0; n < slow; n++) {
      const headers = { "x-forwarded-for": `198.19.${2 + Math.floor(n / 250)}.${(n % 250) + 1}` }
      const answer = await ask("POST", `${seat.url}/api/session/request`, { headers, body: {} })
      const ticket = textOf(answer, "uniqueRequestId")
      clients.push(await (n % 2 === 0 ? slowSocket : slowEvents)(seat.url, ticket, headers))
    }
    const stopped = performance.now()
    const crowd = rig.crowd({ callers, arriveMillis: 5_000, talkMillis: [100, 300] })
    let most = 0
    let droppedAfter: number | undefined
    // a client that does not read does not see the close either, so the system is asked
    const standing = (kind: Slow["kind"]): number => {
      const peers = peersOf(seat.port)
      return clients.filter((client) => client.kind === kind && peers.has(client.port)).length
    }
    const watching = (async () => {
      while (droppedAfter === undefined && performance.now() - stopped < DROPPED_BY_MILLIS) {
        most = Math.max(most, residentOf(pid))
        if (standing("WebSocket") === 0) droppedAfter = performance.now() - stopped
        await sleep(250)
      }
    })()
    await first.done(60_000)
    await watching
    const sse = standing("SSE")
    for (const client of clients) client.dispose()
    await crowd.done(300_000)
    most = Math.max(most, residentOf(pid))
    const verdict = await judge(rig, { outcomes: [] })
    const wrongs = [
      ...(droppedAfter === undefined
        ? [`the silent WebSockets were not dropped in ${DROPPED_BY_MILLIS / 1000} s`]
        : []),
      // the gate keeps 64 KiB per connection for a slow peer
      ...(most - idle > 100 + slow / 8 ? [`the gate grew by ${Math.round(most - idle)} MB`] : []),
    ]
    return [
      {
        fault: `${slow} push clients that stop reading, half by WebSocket, half by SSE, beside ${callers} who read`,
        promised:
          "the gate keeps at most 64 KiB for each and drops who shows no sign of life (WebSocket: 30 s, and 30 s more to close when its ticket is over); others are served",
        seen:
          `the WebSockets were dropped ${seconds(droppedAfter)} after they went silent; ${sse} SSE streams stand, since what they are sent fits ` +
          `into the system's buffers; the gate's memory went from ${Math.round(idle)} to at most ${Math.round(most)} MB; ` +
          `of those who read: ${inWords(verdict.outcomes)}; ${peaksInWords(verdict, rig)}`,
        back: "never lost",
        wrongs: [...wrongs, ...verdict.wrongs],
      },
    ]
  },
}
