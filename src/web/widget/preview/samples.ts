/** Every state of the widget as a sample, for the preview: nothing is called, and nobody waits. */
import type { Place, VoiceAgentState } from "../client/state.ts"

const MINUTE = 60_000

const place = (now: number): Place => ({
  position: 3,
  queueLength: 5,
  estimatedWait: 240,
  disrupted: false,
  paused: false,
  pausedUntil: undefined,
  offers: [],
  asOf: now,
})

const waiting = (now: number, change: Partial<Place> = {}): VoiceAgentState => ({
  name: "waiting",
  place: { ...place(now), ...change },
  link: true,
  notice: undefined,
})

const refused = (code: string, retryAt?: number): VoiceAgentState => ({
  name: "refused",
  code,
  message: "",
  issues: [],
  retryAt,
  offers: [],
})

const ended = (reason: string, lasted?: number): VoiceAgentState => ({ name: "ended", reason, message: "", lasted })

const inCall = (now: number): Extract<VoiceAgentState, { name: "in-call" }> => ({
  name: "in-call",
  since: now - 42_000,
  muted: false,
  link: true,
  audio: true,
  microphone: true,
  takesText: true,
})

/** Each is made for the time at which it is shown (ms since 1970). */
export const SAMPLES = {
  microphone: () => ({ name: "checking-microphone" }),
  "no-microphone": () => ({ name: "no-microphone", problem: "denied" }),
  unsupported: () => ({ name: "no-microphone", problem: "no-sound" }),
  connecting: () => ({ name: "connecting", to: "agent" }),
  waiting: (now) => waiting(now),
  next: (now) => waiting(now, { position: 1, queueLength: 4, estimatedWait: 40 }),
  far: (now) => waiting(now, { position: 100, queueLength: 240, estimatedWait: 2_400 }),
  paused: (now) => waiting(now, { paused: true, pausedUntil: now + 20 * MINUTE, estimatedWait: undefined }),
  "paused-budget": (now) => {
    const pausedUntil = now + 20 * MINUTE
    return waiting(now, { paused: true, pausedUntil, resumesAt: pausedUntil, estimatedWait: undefined })
  },
  disrupted: (now) => waiting(now, { disrupted: true, estimatedWait: undefined }),
  offers: (now) =>
    waiting(now, { offers: [{ kind: "number", label: "Call +44 20 7946 0000", target: "tel:+442079460000" }] }),
  turn: (now) => ({ name: "your-turn", since: now, startBefore: now + 30_000, starting: false, notice: undefined }),
  call: inCall,
  muted: (now) => ({ ...inCall(now), muted: true }),
  writing: (now) => ({ ...inCall(now), writing: true }),
  ending: (now) => ({ ...inCall(now), warning: { reason: "length", endsAt: now + MINUTE } }),
  silence: (now) => ({ ...inCall(now), warning: { reason: "silence", endsAt: now + 10_000 } }),
  reconnecting: (now) => ({ ...inCall(now), link: false, down: "network" }),
  left: () => ({ name: "idle", notice: { code: "left", message: "" } }),
  ended: () => ended("hung-up", 3 * MINUTE),
  missed: () => ended("missed"),
  lost: () => ended("lost", MINUTE),
  unreached: () => ended("unreached"),
  closed: (now) => refused("closed", now + 14 * 60 * MINUTE),
  full: (now) => refused("queue_full", now + 2 * MINUTE),
  draining: (now) => refused("draining", now + MINUTE),
  limited: (now) => refused("rate_limited", now + 30 * MINUTE),
  "limited-today": (now) => refused("rate_limited", now + 13 * 60 * MINUTE),
  budget: (now) => refused("budget_exhausted", now + 5 * 60 * MINUTE),
  blocked: () => refused("blocked"),
  failed: (now) => refused("platform_unavailable", now + MINUTE),
  offline: (now) => ({ name: "offline", retryAt: now + 15_000 }),
} satisfies Readonly<Record<string, (now: number) => VoiceAgentState>>

export type SampleName = keyof typeof SAMPLES
