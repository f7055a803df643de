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
    ...inputs.map(({ deviceId, label }, index) =>
      h("option", { value: deviceId, selected: deviceId === current }, label || say("check.number", { n: index + 1 })),
    ),
  )
}

/**
 * The list beside the button of the microphone in a call; empty where the page replaces the microphone. It is there from the beginning, also
 * while it has one device: what came later would move the buttons.
 */
export const devicePicker = ({ checks, say, useMicrophone }: Tools): HTMLElement | "" => {
  if (!checks() || useMicrophone === undefined) return ""
  const list = document.createElement("select")
  list.ariaLabel = say("check.device")
  list.addEventListener("change", () => useMicrophone(list.value))
  const show = (): unknown => fillDevices(list, chosenMicrophone(), say).catch(() => {})
  // what was connected meanwhile
  list.addEventListener("pointerenter", show)
  show()
  return h("span", { class: "picker" }, downIcon(), list)
}
