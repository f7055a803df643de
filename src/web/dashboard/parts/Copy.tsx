/** Copies a text to the clipboard, and announces it. */
import type { JSX } from "preact"
import { useEffect, useState } from "preact/hooks"
import { announceUnseen } from "../../shared/parts/announce.ts"
import { notify } from "./notify.ts"

const SHOWN_MILLIS = 2_000

const CLASSES = { beside: "copy small-button", icon: "copy small-button quiet icon", alone: "copy primary" } as const

/** Two sheets, or a tick. */
const Icon = ({ copied }: { readonly copied: boolean }): JSX.Element => (
  <svg aria-hidden="true" viewBox="0 0 16 16" width="16" height="16">
    {copied ? (
      <path d="m3 8.5 3.25 3.25L13 4.75" />
    ) : (
      <>
        <rect x="5.75" y="5.75" width="8.5" height="8.5" rx="1.75" />
        <path d="M3.5 10.25a1.75 1.75 0 0 1-1.75-1.75V3.5c0-.97.78-1.75 1.75-1.75h5c.97 0 1.75.78 1.75 1.75" />
      </>
    )}
  </svg>
)

/** @param what names the copied text, for the button's label and the announcement */
export const Copy = ({
  text,
  what,
  look = "beside",
  onCopied,
}: {
  readonly text: string
  readonly what: string
  /** a button beside a text, an icon after an ID, or a button of its own */
  readonly look?: keyof typeof CLASSES
  readonly onCopied?: () => void
}): JSX.Element => {
  const [state, setState] = useState<"idle" | "copied" | "failed">("idle")
  useEffect(() => {
    if (state === "idle") return
    const timer = window.setTimeout(() => setState("idle"), SHOWN_MILLIS)
    return () => clearTimeout(timer)
  }, [state])
  const copy = async (): Promise<void> => {
    try {
      // Only pages on https or localhost have a clipboard.
      await navigator.clipboard.writeText(text)
      setState("copied")
      announceUnseen(`Copied ${what}.`)
      onCopied?.()
    } catch {
      setState("failed")
      notify(`Your browser blocked copying. Select ${what} and copy it manually.`)
    }
  }
  const shown = { idle: "Copy", copied: "Copied", failed: "Copy manually" }[state]
  return (
    <button
      type="button"
      class={CLASSES[look]}
      aria-label={state === "failed" ? undefined : `Copy ${what}`}
      title={look === "icon" ? shown : undefined}
      onClick={() => void copy()}
    >
      {look === "icon" && state !== "failed" ? <Icon copied={state === "copied"} /> : shown}
    </button>
  )
}

/** A full id with its copy button. */
export const Id = ({ id, what }: { readonly id: string; readonly what: string }): JSX.Element => (
  <span class="id">
    <code title={id}>{id}</code>
    <Copy look="icon" text={id} what={what} />
  </span>
)
