/**
 * The devices of a call: source and audio output, opened together, once at a time. They stay open until `close`; the source may rest
 * meanwhile. A source that rested is opened again, and so is one that is lost in a call: at once, when the visitor connects another
 * device, and when they ask for it.
 */

import type { VoiceAgentOptions } from "../client/options.ts"
import { openSound, openSource, type Sound, type Source } from "./audio.ts"
import { NoSound } from "./microphone.ts"
import { openSilence } from "./silence-source.ts"

export interface Ready {
  readonly source: Source
  readonly sound: Sound
}

export interface EquipmentListener {
  /** Whether the source gives sound, in a call. */
  readonly microphone: (open: boolean) => void
  /** The source of the call is lost, and no other one was found in time. */
  readonly gone: () => void
  /** Gives the call another source; false if it cannot take one. */
  readonly replaced: (source: Source) => boolean
}

/** How long a call waits for another source after it has lost one, in milliseconds. */
const GONE_AFTER = 30_000

export class Equipment {
  private readonly options: VoiceAgentOptions
  private readonly listener: EquipmentListener
  private readonly over = new AbortController()
  private opening: Promise<Ready> | undefined
  private source: Source | undefined
  private sound: Sound | undefined
  private muted = true
  private inCall = false
  private missing: number | undefined
  private replaceable = true

  constructor(options: VoiceAgentOptions, listener: EquipmentListener) {
    this.options = options
    this.listener = listener
  }

  /** Fails with `NoSound` or `Unreachable`. */
  open(): Promise<Ready> {
    this.opening ??= this.openAll().finally(() => {
      this.opening = undefined
    })
    return this.opening
  }

  private async openAll(): Promise<Ready> {
    const [sound, source] = await Promise.allSettled([
      this.sound ?? openSound(this.options),
      this.source ?? openSource(this.options.writing ? openSilence : this.options.source),
    ])
    if (sound.status === "fulfilled") this.sound = sound.value
    if (source.status === "fulfilled" && this.source !== source.value) this.keep(source.value)
    if (this.over.signal.aborted) this.close()
    if (source.status === "rejected") throw source.reason
    if (sound.status === "rejected") throw sound.reason
    return { source: source.value, sound: await this.joined(sound.value, source.value) }
  }

  /** The sound with its source: another one, if this one cannot take it. */
  private async joined(sound: Sound, source: Source): Promise<Sound> {
    if (this.over.signal.aborted || sound.use(source)) return sound
    // the line of a call has the ports of this one
    if (this.inCall) throw new NoSound("no-sound")
    sound.close()
    this.sound = undefined
    const other = await openSound(this.options, source)
    this.sound = other
    if (this.over.signal.aborted) this.close()
    else if (!other.use(source)) throw new NoSound("no-sound")
    return other
  }

  private keep(source: Source): void {
    this.source = source
    source.onLost(() => this.lose(source))
    source.onSilenced((silenced) => {
      if (this.inCall && this.source === source) this.listener.microphone(!silenced)
    })
  }

  /** The source gives nothing any more. */
  lose(source = this.source): void {
    if (this.over.signal.aborted || source === undefined || this.source !== source) return
    this.source = undefined
    source.stop()
    if (this.inCall) this.miss()
  }

  /** The call has no source. */
  private miss(): void {
    this.listener.microphone(false)
    window.clearTimeout(this.missing)
    this.missing = window.setTimeout(() => {
      if (this.isCurrent(undefined)) this.listener.gone()
    }, GONE_AFTER)
    void this.regain()
  }

  private isCurrent(source: Source | undefined): boolean {
    return !this.over.signal.aborted && this.source === source
  }

  /** Opens the source of a call again, if it is lost and the call can take another one. */
  async regain(): Promise<void> {
    if (!this.inCall || !this.replaceable || !this.isCurrent(undefined)) return
    const ready = await this.open().catch(() => undefined)
    if (ready === undefined || !this.isCurrent(ready.source)) return
    this.replaceable = this.listener.replaced(ready.source)
    if (this.replaceable) {
      ready.source.setMuted(this.muted)
      this.listener.microphone(true)
    } else this.rest()
  }

  /** Opens the microphone that the visitor has chosen now; in a call only, since it is opened later otherwise. */
  async change(): Promise<void> {
    // the last choice counts
    await this.opening?.catch(() => {})
    if (!this.inCall || this.source === undefined || !this.replaceable) return
    this.rest()
    await this.regain()
    if (this.isCurrent(undefined)) this.miss()
  }

  /** The call begins: from now on a lost source is opened again. */
  begin(muted: boolean): void {
    this.inCall = true
    this.setMuted(muted)
    // the source may be gone since it was opened
    const track = this.source?.stream.getAudioTracks()[0]
    if (this.source === undefined) this.miss()
    else if (track?.readyState === "ended") this.lose()
    else if (track?.muted === true) this.listener.microphone(false)
    // absent in browsers on pages that are not secure
    navigator.mediaDevices?.addEventListener("devicechange", () => void this.regain(), { signal: this.over.signal })
  }

  /** Stops the source while it is not needed, so that the browser does not show a microphone in use. */
  rest(): void {
    const { source } = this
    this.source = undefined
    source?.stop()
  }

  setMuted(muted: boolean): void {
    this.muted = muted
    this.source?.setMuted(muted)
  }

  close(): void {
    this.over.abort()
    this.source?.stop()
    this.sound?.close()
  }
}
