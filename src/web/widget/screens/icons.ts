/** Icons in the colour of their text, drawn without HTML strings, which a page's Trusted Types may forbid. */

const SVG = "http://www.w3.org/2000/svg"

export const shape = (tag: string, attributes: Readonly<Record<string, string>>): SVGElement => {
  const element = document.createElementNS(SVG, tag)
  for (const name in attributes) element.setAttribute(name, attributes[name] ?? "")
  return element
}

/** An icon of lines: paths in a square of 24. The style hides all but the first, except while a button is pressed. */
export const icon = (...lines: ReadonlyArray<string>): SVGElement => {
  const element = shape("svg", { viewBox: "0 0 24 24", class: "icon", "aria-hidden": "true" })
  element.append(...lines.map((d) => shape("path", { d })))
  return element
}

/** The stroke through what is off. */
const STROKE = "M4 4l16 16"

/** A microphone, with the stroke through it. */
export const microphoneIcon = (): SVGElement =>
  icon("M9 6v6a3 3 0 0 0 6 0V6a3 3 0 0 0-6 0M5 12a7 7 0 0 0 14 0M12 19v3", STROKE)

/** A telephone receiver. */
export const phoneIcon = (): SVGElement =>
  icon("M5 4h3l2 5-2.5 1.8a12 12 0 0 0 5.7 5.7L15 14l5 2v3a2 2 0 0 1-2 2A16 16 0 0 1 3 6a2 2 0 0 1 2-2z")

export const chatIcon = (): SVGElement =>
  icon("M5 5h14a1 1 0 0 1 1 1v9a1 1 0 0 1-1 1h-7l-5 4v-4H5a1 1 0 0 1-1-1V6a1 1 0 0 1 1-1z")

/** Waves of a radio, struck through. */
export const offlineIcon = (): SVGElement =>
  icon("M2 9a15 15 0 0 1 20 0M5.5 12.8a10 10 0 0 1 13 0M9 16.5a5 5 0 0 1 6 0M12 20h0M4 4l16 16")

/** A telephone receiver that is put down. */
export const hangUpIcon = (): SVGElement => icon("M3 14c0-8 18-8 18 0l-2 2-4-2v-3a9 9 0 0 0-6 0v3l-4 2z")

const CIRCLE = "M12 3a9 9 0 0 0 0 18a9 9 0 0 0 0-18"
export const clockIcon = (): SVGElement => icon(`${CIRCLE}M12 7v5l3 2`)
export const pauseIcon = (): SVGElement => icon(`${CIRCLE}M10 9v6M14 9v6`)
export const blockedIcon = (): SVGElement => icon(`${CIRCLE}M6 6l12 12`)
export const alertIcon = (): SVGElement => icon(`${CIRCLE}M12 7v6M12 16.5h0`)
export const moonIcon = (): SVGElement => icon("M20 14A8.5 8.5 0 1 1 10 4a7 7 0 0 0 10 10z")
export const peopleIcon = (): SVGElement =>
  icon("M9 4a4 4 0 0 0 0 8a4 4 0 0 0 0-8M2 20a7 5 0 0 1 14 0M16 4a4 4 0 0 1 0 8M19 15a6 6 0 0 1 3 5")
export const personIcon = (): SVGElement => icon("M12 4a4 4 0 0 0 0 8a4 4 0 0 0 0-8M4.5 20a7.5 6 0 0 1 15 0")
export const bellIcon = (): SVGElement => icon("M18 16V11a6 6 0 0 0-12 0v5l-1.5 2h15zM10 21h4")
export const windowIcon = (): SVGElement => icon("M3 5h18v14H3zM12 12h6v4h-6z")
/** A telephone beside a screen. */
export const devicesIcon = (): SVGElement => icon("M12 18H4V5h16v3M15 11h6v10h-6zM2 21h10")

/** Folds downward: closes a panel that can be opened again, or opens a list. */
export const downIcon = (): SVGElement => icon("M6 9l6 6 6-6")

/** Captions: a screen with lines of text, with the stroke through it. */
export const captionsIcon = (): SVGElement => icon("M4 5h16v14H4zM7.5 11h4M14.5 11h2M7.5 15h2M12.5 15h4", STROKE)

export const sendIcon = (): SVGElement => icon("M12 20V5M5 12l7-7 7 7")

export const starIcon = (): SVGElement =>
  icon("M12 3.6l2.6 5.3 5.8.8-4.2 4.1 1 5.8-5.2-2.7-5.2 2.7 1-5.8-4.2-4.1 5.8-.8z")

export const copyIcon = (): SVGElement => icon("M9 9h11v11H9zM5 15H4V4h11v1")
