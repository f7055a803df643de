/**
 * The devices of a call: source and audio output, opened together, once at a time. They stay open until `close`; the source may rest
 * meanwhile. A source that rested or was lost is opened again.
 */
import { openSound, openSource, type Sound, type Source } from "./audio.ts"
import type { VoiceAgentOptions } from "./options.ts"

export interface Ready {
  readonly source: Source
  readonly sound: Sound
}

export class Equipment {
  private readonly options: VoiceAgentOptions
  private readonly lost: () => void
  private opening: Promise<Ready> | undefined
  private source: Source | undefined
  private sound: Sound | undefined
  private closed = false

  /** `lost` is called when the source is lost, such as a microphone that is unplugged. */
  constructor(options: VoiceAgentOptions, lost: () => void) {
    this.options = options
    this.lost = lost
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
      this.source ?? openSource(this.options.source),
    ])
    if (sound.status === "fulfilled") this.sound = sound.value
    if (source.status === "fulfilled" && this.source !== source.value) this.keep(source.value)
    if (this.closed) this.close()
    if (source.status === "rejected") throw source.reason
    if (sound.status === "rejected") throw sound.reason
    return { source: source.value, sound: sound.value }
  }

  private keep(source: Source): void {
    this.source = source
    source.onLost(() => {
      if (this.closed || this.source !== source) return
      this.source = undefined
      this.lost()
    })
  }

  /** Stops the source while it is not needed, so that the browser does not show a microphone in use. */
  rest(): void {
    const { source } = this
    this.source = undefined
    source?.stop()
  }

  setMuted(muted: boolean): void {
    this.source?.setMuted(muted)
  }

  close(): void {
    this.closed = true
    this.source?.stop()
    this.sound?.close()
  }
}
