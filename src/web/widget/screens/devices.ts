/** The microphones of this device, as a list to choose from. */
import { chosenMicrophone } from "../audio/microphone.ts"
import type { Say } from "../words/strings.ts"
import { h } from "./dom.ts"
import { downIcon } from "./icons.ts"
import type { Tools } from "./parts.ts"

/** Fills a list with the microphones that the browser names, `current` selected. */
export const fillDevices = async (list: HTMLSelectElement, current: string | undefined, say: Say): Promise<void> => {
  const found = await navigator.mediaDevices.enumerateDevices()
  const inputs = found.filter(({ kind }) => kind === "audioinput")
  list.replaceChildren(
    ...inputs.map(({ deviceId, label }, index) => {
      const option = h("option", { value: deviceId }, label || say("check.number", { n: index + 1 }))
      option.toggleAttribute("selected", deviceId === current)
      return option
    }),
  )
}

/** The list beside the button of the microphone in a call; hidden where there is nothing to choose. */
export const devicePicker = ({ checks, say, useMicrophone }: Tools): HTMLElement => {
  const list = document.createElement("select")
  list.ariaLabel = say("check.device")
  const picker = h("span", { class: "picker", hidden: true }, downIcon(), list)
  if (!checks() || useMicrophone === undefined) return picker
  list.addEventListener("change", () => useMicrophone(list.value))
  const show = async (): Promise<void> => {
    await fillDevices(list, chosenMicrophone(), say).catch(() => {})
    picker.hidden = list.length < 2
  }
  // what was connected meanwhile
  list.addEventListener("pointerenter", () => void show())
  void show()
  return picker
}
