/** The demo page's script: a test tone for machines without a microphone, and the page's own origin in its example. */
import type {} from "../widget/index.ts"

/** A soft pulsing tone. */
const tone = async (): Promise<MediaStream> => {
  const context = new AudioContext()
  const destination = new MediaStreamAudioDestinationNode(context)
  const pulse = new GainNode(context, { gain: 0.12 })
  const carrier = new OscillatorNode(context, { frequency: 392 })
  const swell = new OscillatorNode(context, { frequency: 0.7 })
  swell.connect(new GainNode(context, { gain: 0.12 })).connect(pulse.gain)
  carrier.connect(pulse).connect(destination)
  for (const oscillator of [carrier, swell]) oscillator.start()
  await context.resume()
  return destination.stream
}

await customElements.whenDefined("voice-agent")
const widget = document.querySelector("voice-agent")
const wanted = document.querySelector<HTMLInputElement>("#tone")
wanted?.addEventListener("change", () => {
  if (widget !== null) widget.source = wanted.checked ? tone : undefined
})
for (const element of document.querySelectorAll("[data-origin]")) element.textContent = location.origin
