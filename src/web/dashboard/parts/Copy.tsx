/** Copies a text to the clipboard, and announces it. */
import type { JSX } from "preact"
import { useEffect, useState } from "preact/hooks"
import { announceUnseen } from "../../shared/parts/announce.ts"
import { notify } from "./notify.ts"

const SHOWN_MILLIS = 2_000

/** @param what names the copied text, for the button's label and the announcement */
export const Copy = ({
  text,
  what,
  loud = false,
  onCopied,
}: {
  readonly text: string
  readonly what: string
  /** a standalone button, instead of one beside a text */
  readonly loud?: boolean
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
      class={loud ? "primary copy" : "copy small-button"}
      aria-label={state === "failed" ? undefined : `Copy ${what}`}
      onClick={() => void copy()}
    >
      {shown}
    </button>
  )
}

/** A full id with its copy button. */
export const Id = ({ id, what }: { readonly id: string; readonly what: string }): JSX.Element => (
  <span class="id">
    <code>{id}</code>
    <Copy text={id} what={what} />
  </span>
)
