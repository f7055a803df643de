/**
 * The demo page's script: the floating form, a test tone for machines without a microphone, and an example with the page's own origin and
 * the demo's vendor.
 */
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
const floating = document.querySelector<HTMLInputElement>("#floating")
floating?.addEventListener("change", () => {
  if (floating.checked) widget?.setAttribute("mode", "floating")
  else widget?.removeAttribute("mode")
  const shown = document.querySelector("[data-mode]")
  if (shown !== null) shown.textContent = floating.checked ? 'mode="floating" ' : ""
})
const fill = (name: string, text: string): void => {
  for (const element of document.querySelectorAll<HTMLElement>(`main [data-${name}]`)) {
    element.textContent = text
    element.hidden = false
  }
}
fill("origin", location.origin)
const { allowed, held, sdk, vendor } = document.body.dataset
if (allowed !== undefined) fill("origins", allowed)
if (vendor !== undefined && sdk !== undefined) {
  fill("sdk", `sdk="${new URL(sdk, location.href).href}" `)
  fill("option", `--vendor ${vendor} `)
  if (held !== undefined)
    fill(
      "held",
      " With this vendor, it rings when the credential of the ended call has expired: up to two minutes after that call began.",
    )
  fill("fake", `The agent is of ${vendor}: a fake of that vendor on this machine. Nothing is sent to the vendor.`)
}
