/**
 * `vendors.js`: calls of a vendor's own, which begin with a credential instead of a WebSocket. The vendor's SDK is the page's: the widget
 * neither has it nor loads it from anywhere that the site's owner has not named. How each SDK connects a call is said in `vendors/pages.ts`.
 */

import { keepRunning } from "./audio/context.ts"
import type { Ready } from "./audio/equipment.ts"
import { measure } from "./audio/loudness.ts"
import type { Call, CallEnd, CallListener } from "./call/call.ts"
import { gateUrl, type VoiceAgentOptions } from "./client/options.ts"
import { tellOwner } from "./client/owner.ts"
import { type Fields, fieldsOf, text } from "./gate/json.ts"
import own from "./vendors/own.ts"
import { pages, pageWithNeeds } from "./vendors/pages.ts"
import type { Caller, VendorCall, VendorCredential } from "./vendors/vendor.ts"

/** Opens the call with the visitor's audio, which is prepared as for any other call. */
export type OpenVendorCall = (ready: Ready, listener: CallListener) => Call

/** A call that did not connect after this time is given up, in milliseconds. */
const CONNECT_WITHIN = 15_000
/** How long an SDK may take to hang up before the gate is told, in milliseconds. */
const HANG_UP_WITHIN = 1_500

/** The module of the page's SDK; undefined if it has none. The site's owner is told why. */
const loadSdk = async ({ sdk }: VoiceAgentOptions): Promise<object | undefined> => {
  if (sdk === undefined) return undefined
  try {
    const address = typeof sdk === "string" ? new URL(sdk, document.baseURI).href : ""
    const module: unknown = await (typeof sdk === "string"
      ? import(/* @vite-ignore */ /* webpackIgnore: true */ /* turbopackIgnore: true */ address)
      : sdk())
    if (typeof module === "object" && module !== null) return module
    tellOwner("the function sdk of the <voice-agent> must return the vendor's SDK, as import() does")
  } catch (error) {
    const from = typeof sdk === "string" ? ` from ${sdk}` : ""
    tellOwner(`the vendor's SDK cannot be loaded${from}: ${error}. Correct the attribute or property sdk`)
  }
  return undefined
}

/**
 * Whether the page's SDK can be loaded and, where it is known what it needs of the page, can call; before a place is taken. The site's
 * owner is told why not.
 */
export const hasSdk = async (options: VoiceAgentOptions): Promise<boolean> => {
  const sdk = await loadSdk(options)
  const needing = await pageWithNeeds({ ...sdk, ...fieldsOf(fieldsOf(sdk).default) })?.()
  const problem = await needing?.default.lacks?.()
  if (problem) tellOwner(problem)
  return sdk !== undefined && !problem
}

const credentialOf = (fields: Fields, options: VoiceAgentOptions): VendorCredential => {
  const shape = text(fields.shape) ?? ""
  const [url, token] = [text(fields.url), text(fields.token)]
  return {
    platform: text(fields.platform) ?? "",
    shape,
    // the offer goes to the gate, which may say where by a path
    ...(url === undefined ? {} : { url: shape === "sdp-relay" ? gateUrl(options, url.replace(/^\//, "")).href : url }),
    ...(token === undefined ? {} : { token }),
    details: fieldsOf(fields.details),
  }
}

/**
 * What opens the call of a credential; undefined if the page lacks the SDK, of which its owner is told. Fails if the vendor's file
 * cannot be loaded.
 */
export const prepareCall = async (fields: Fields, options: VoiceAgentOptions): Promise<OpenVendorCall | undefined> => {
  const credential = credentialOf(fields, options)
  const { platform, shape } = credential
  const page = pages.get(shape) ?? pages.get(platform)
  const [loaded, given] = await Promise.all([page?.(), loadSdk(options)])
  const vendor = loaded?.default ?? own
  const sdk = given ?? (vendor.sdk === undefined && options.sdk === undefined ? {} : undefined)
  // a page may connect the calls of any vendor by itself
  const connect = sdk && (own.connector(sdk) ?? vendor.connector(sdk))
  if (connect === undefined) {
    // told already, where it could not be loaded
    if (sdk !== undefined || options.sdk === undefined)
      tellOwner(
        `calls of the platform "${platform}" need ${vendor.sdk} on this page: name it with the attribute or property sdk of the <voice-agent>`,
      )
    return undefined
  }
  return (ready, listener) => open((caller) => connect(credential, caller), ready, options, listener)
}

const open = (
  connect: (caller: Caller) => Promise<VendorCall>,
  ready: Ready,
  options: VoiceAgentOptions,
  listener: CallListener,
): Call => {
  const { sound, source } = ready
  const over = new AbortController()
  const context = new AudioContext()
  keepRunning(context, over.signal)
  const players: Array<HTMLAudioElement> = []
  let call: VendorCall | undefined
  let ended = false
  /** the vendor holds the caller in a queue of its own */
  let held = false
  let muted: boolean | undefined
  let usesSound = false

  const finish = (how: CallEnd): void => {
    if (ended) return
    ended = true
    window.clearTimeout(connecting)
    for (const player of players) player.srcObject = null
    sound.close()
    context.close().catch(() => {})
    listener.ended(how)
    // The gate is told of every end: not every vendor tells it, and the vendor's own report may come later.
    const tooLate = new Promise((resolve) => window.setTimeout(resolve, HANG_UP_WITHIN))
    void Promise.race([hangUp(), tooLate]).then(() => listener.closed(false))
    over.abort()
  }
  const hangUp = async (): Promise<void> => {
    try {
      await call?.hangUp()
    } catch {
      // the call is over at the vendor too
    }
  }

  const connecting = window.setTimeout(() => finish("unreached"), CONNECT_WITHIN)
  const [track] = source.stream.getAudioTracks()
  const whileOpen =
    <Told>(tell: (told: Told) => void) =>
    (told: Told): void => {
      if (call !== undefined && !ended) tell(told)
    }
  const connected = connect({
    microphone: source.stream,
    deviceId: track?.getSettings().deviceId,
    ready: {
      ...ready,
      sound: {
        ...sound,
        begin: (on) => {
          usesSound = true
          sound.begin(on)
        },
      },
    },
    // the loudness of both sides is measured already
    watch: { ...listener, said: () => {}, heard: () => {} },
    options,
    dynamicVariables: options.dynamicVariables ?? {},
    signal: over.signal,
    turn: (turn) => {
      if (!ended) listener.turn(turn)
    },
    play: (stream) => {
      if (ended) return
      const player = new Audio()
      player.srcObject = stream
      players.push(player)
      watchPlayer(player, listener, over.signal)
      measure(context, stream, listener.heard)
    },
    heard: whileOpen(listener.heard),
    link: whileOpen(listener.link),
    held: (now) => {
      held = now
      // the vendor limits how long it holds a caller
      window.clearTimeout(connecting)
      if (!now) begin()
      else if (!ended) listener.held()
    },
    ended: (how) => finish(call === undefined || held ? "unreached" : how),
  })
  const begin = (): void => {
    if (call === undefined || held || ended) return
    listener.opened()
    if (call.send) listener.takesText()
  }
  connected.then(
    (opened) => {
      call = opened
      // the call was given up meanwhile
      if (ended) {
        void hangUp()
        return
      }
      window.clearTimeout(connecting)
      measure(context, source.stream, listener.said)
      begin()
    },
    (error: unknown) => {
      if (!ended) console.warn("voicegate: the vendor's SDK did not connect the call:", error)
      finish("unreached")
    },
  )
  return {
    hangUp: () => finish("hung-up"),
    send: (said) => void call?.send?.(said),
    setMuted: (next) => {
      if (muted === next) return
      muted = next
      void call?.setMuted?.(next)
    },
    use: ({ stream }) => {
      void call?.use?.(stream)
      return call?.use !== undefined || usesSound
    },
  }
}

/** How long a player may be kept from playing, in milliseconds, before the call is given up. */
const PLAY_WITHIN = 4_000

/** Plays, and goes on where the browser stops it or waits for a gesture of the visitor. */
const watchPlayer = (player: HTMLAudioElement, { audio, failed }: CallListener, signal: AbortSignal): void => {
  let giveUp: number | undefined
  const play = (): void => {
    if (player.paused) player.play().catch(() => {})
  }
  const onPlay = (): void => {
    if (giveUp !== undefined) audio(true)
    window.clearTimeout(giveUp)
    giveUp = undefined
  }
  const onStop = (): void => {
    if (signal.aborted || giveUp !== undefined) return
    audio(false)
    giveUp = window.setTimeout(() => {
      if (!signal.aborted) failed()
    }, PLAY_WITHIN)
    play()
  }
  player.addEventListener("playing", onPlay, { signal })
  player.addEventListener("pause", onStop, { signal })
  for (const gesture of ["pointerdown", "keydown"]) window.addEventListener(gesture, play, { signal, capture: true })
  player.play().catch(onStop)
}

/** `vendors.js`: calls of another platform than the default one. */
export interface VendorsPart {
  readonly hasSdk: typeof hasSdk
  readonly prepareCall: typeof prepareCall
}
