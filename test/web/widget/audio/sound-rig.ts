/**
 * Measures how late the sound of a call is, in both directions, while its line or its page is disturbed.
 *
 * Both sides send a tone whose pitch rises steadily, so the pitch that arrives tells when it was spoken: at second `s` of the call it is
 * `FROM + PER_SECOND · s` Hz. A small server plays the gate and the platform, so that nothing else is measured.
 */
import { once } from "node:events"
import { readFile } from "node:fs/promises"
import { createServer } from "node:http"
import { connect, createServer as createTcpServer, type Socket } from "node:net"
import { join } from "node:path"
import type { Browser, Page } from "playwright-core"
import { WebSocketServer } from "ws"
import { eventually } from "../../../harness/process.ts"
import { pitch } from "./pitch.ts"

const FROM = 300
const PER_SECOND = 60
const RATE = 16_000
const FRAME = 320
/** Samples of a measured pitch: 40 ms of speech. */
const WINDOW = 0.04

export interface Measured {
  /** when, in seconds of the call */
  readonly at: number
  /** how late, in seconds; undefined while nothing is heard */
  readonly late: number | undefined
}

const now = (): number => performance.timeOrigin + performance.now()

/** How late a tone of this pitch is at a time of the call, in seconds. */
const lateness = (at: number, samples: Float32Array, rate: number): Measured => {
  const heard = pitch(samples, rate)
  return { at, late: heard === undefined ? undefined : at - (heard - FROM) / PER_SECOND }
}

const portOf = (server: { readonly address: () => ReturnType<ReturnType<typeof createServer>["address"]> }): number => {
  const address = server.address()
  if (address === null || typeof address === "string") throw new Error("a TCP server has a port")
  return address.port
}

/** A TCP line whose chunks are late, in order, as a test says. */
export interface LateLine {
  readonly port: number
  /** milliseconds that a chunk of this moment takes */
  delay: () => number
  readonly stop: () => void
}

const openLateLine = async (target: number): Promise<LateLine> => {
  const sockets = new Set<Socket>()
  const server = createTcpServer((near) => {
    const far = connect(target, "127.0.0.1")
    for (const [from, to] of [
      [near, far],
      [far, near],
    ] as const) {
      let free = 0
      sockets.add(from.setNoDelay(true))
      from.on("data", (chunk) => {
        free = Math.max(free, performance.now() + line.delay())
        setTimeout(() => to.write(chunk), Math.max(0, free - performance.now()))
      })
      from.on("error", () => to.destroy())
      from.on("close", () => to.destroy())
    }
  }).listen(0, "127.0.0.1")
  await once(server, "listening")
  const line: LateLine = {
    port: portOf(server),
    delay: () => 0,
    stop: () => {
      server.close()
      for (const socket of sockets) socket.destroy()
    },
  }
  return line
}

const PAGE = `<!doctype html><title>Sound</title><button>Begin</button><script type="module">
  import { createVoiceAgent } from "/widget.js"
  const { connect } = AudioNode.prototype
  window.blocks = []
  // what goes to the loudspeaker, recorded on the audio thread, so that a busy page loses nothing
  const recorder = URL.createObjectURL(new Blob([\`registerProcessor("recorder", class extends AudioWorkletProcessor {
    samples = []
    process([[channel]]) {
      if (channel !== undefined) this.samples.push(...channel)
      if (this.samples.length >= 2048) this.port.postMessage({ at: currentTime + 128 / sampleRate, samples: this.samples.splice(0) })
      return true
    }
  })\`], { type: "text/javascript" }))
  AudioNode.prototype.connect = function (to, ...rest) {
    if (to instanceof AudioDestinationNode && this.numberOfInputs === 0) {
      const { context } = this
      window.rate = context.sampleRate
      context.audioWorklet.addModule(recorder).then(() => {
        const node = new AudioWorkletNode(context, "recorder")
        node.port.onmessage = ({ data }) => window.blocks.push({ ...data, wall: performance.timeOrigin + performance.now() })
        connect.call(this, node)
        connect.call(node, to)
      })
    }
    return connect.call(this, to, ...rest)
  }
  const source = async () => {
    const context = new AudioContext()
    await context.resume()
    const tone = new OscillatorNode(context, { frequency: ${FROM} })
    const begin = context.currentTime + 0.2
    tone.frequency.setValueAtTime(${FROM}, begin)
    tone.frequency.linearRampToValueAtTime(${FROM} + ${PER_SECOND} * 60, begin + 60)
    window.spoken = performance.timeOrigin + performance.now() + 200
    const destination = context.createMediaStreamDestination()
    connect.call(tone, destination)
    tone.start()
    return destination.stream
  }
  const agent = createVoiceAgent({ source })
  window.agent = agent
  document.querySelector("button").onclick = () => agent.begin()
</script>`

interface Block {
  readonly at: number
  readonly wall: number
  readonly samples: ReadonlyArray<number>
}

export interface Curves {
  /** the agent at the caller's ear, and the caller at the platform */
  readonly heard: ReadonlyArray<Measured>
  readonly sent: ReadonlyArray<Measured>
}

export interface SoundCall {
  readonly page: Page
  readonly line: LateLine
  /** seconds since the call began */
  readonly time: () => number
  /** Ends the call; how late everything was. */
  readonly end: () => Promise<Curves>
}

/** Begins a call of the widget in a directory; `pings` is whether the platform answers them. */
export const beginCall = async (browser: Browser, widget: string, pings: boolean): Promise<SoundCall> => {
  /** The widget's script is at the root, and its parts are below it. */
  const fileOf = (url = ""): string | undefined => /^\/(?:widget\/)?(\w+\.js)(?:\?|$)/.exec(url)?.[1]
  const received: Array<{ readonly wall: number; readonly samples: Float32Array }> = []
  const sockets = new WebSocketServer({ host: "127.0.0.1", port: 0 })
  await once(sockets, "listening")
  const line = await openLateLine(portOf(sockets))
  const server = createServer(async (request, response) => {
    const file = fileOf(request.url)
    if (file !== undefined) {
      response.writeHead(200, { "content-type": "text/javascript" }).end(await readFile(join(widget, file)))
    } else if (request.method === "POST") {
      const session = { status: "started", sessionId: "s", webSocketUrl: `ws://127.0.0.1:${line.port}/session/s` }
      response.writeHead(200, { "content-type": "application/json" }).end(JSON.stringify(session))
    } else response.writeHead(200, { "content-type": "text/html" }).end(request.url === "/" ? PAGE : "")
  }).listen(0, "127.0.0.1")
  await once(server, "listening")

  let begun = 0
  let speaking: ReturnType<typeof setInterval> | undefined
  sockets.on("connection", (socket) => {
    begun = now()
    let frames = 0
    if (pings) socket.send('{"type":"greeting","text":"Hello","capabilities":["ping"]}')
    // an agent that speaks as fast as real time, in frames of 20 ms
    speaking = setInterval(() => {
      for (; frames * FRAME < ((now() - begun) / 1_000) * RATE; frames++) {
        const samples = Int16Array.from({ length: FRAME }, (_, index) => {
          const time = (frames * FRAME + index) / RATE
          return 12_000 * Math.sin(2 * Math.PI * (FROM * time + (PER_SECOND / 2) * time * time))
        })
        socket.send(Buffer.from(samples.buffer))
      }
    }, 10)
    socket.on("message", (data, isBinary) => {
      if (!isBinary) {
        if (pings && String(data).includes("ping")) socket.send('{"type":"pong"}')
        return
      }
      if (!Buffer.isBuffer(data)) return
      const samples = Float32Array.from(
        { length: data.length >> 1 },
        (_, index) => data.readInt16LE(index * 2) / 0x8000,
      )
      received.push({ wall: now(), samples })
    })
  })

  const page = await browser.newPage()
  await page.goto(`http://127.0.0.1:${portOf(server)}/`)
  await page.click("button")
  await eventually("sound in both directions", async () => {
    const blocks = Number(await page.evaluate("window.blocks.length"))
    return blocks > 0 && received.length > 0
  })

  const time = (): number => (now() - begun) / 1_000
  return {
    page,
    line,
    time,
    end: async () => {
      const { blocks, rate, spoken } = await page.evaluate<{ blocks: Array<Block>; rate: number; spoken: number }>(
        "({ blocks: window.blocks, rate: window.rate, spoken: window.spoken })",
      )
      await page.close()
      clearInterval(speaking)
      line.stop()
      sockets.close()
      for (const client of sockets.clients) client.terminate()
      server.close()
      server.closeAllConnections()

      // The audio thread's clock, by the block that was reported fastest.
      const offset = Math.min(...blocks.map(({ at, wall }) => wall - at * 1_000))
      const heard = blocks.map(({ at, samples }) =>
        lateness((offset + at * 1_000 - begun) / 1_000, Float32Array.from(samples).slice(-WINDOW * rate), rate),
      )
      const sent = received.map(({ wall }, index) => {
        const samples = received.slice(Math.max(0, index - 1), index + 1).flatMap((frame) => [...frame.samples])
        const at = (wall - begun) / 1_000
        const since = (wall - spoken) / 1_000
        return { at, late: lateness(since, Float32Array.from(samples), RATE).late }
      })
      return { heard, sent }
    },
  }
}

/** The middle of what was measured in a span of the call; undefined if nothing was heard. */
export const typical = (curve: ReadonlyArray<Measured>, from: number, to: number): number | undefined => {
  const values = curve
    .filter(({ at }) => at >= from && at < to)
    .flatMap(({ late }) => (late === undefined ? [] : [late]))
    .sort((a, b) => a - b)
  return values[Math.floor(values.length / 2)]
}

export const worst = (curve: ReadonlyArray<Measured>, from: number, to: number): number =>
  Math.max(0, ...curve.filter(({ at }) => at >= from && at < to).flatMap(({ late }) => late ?? []))
