/** Parts of forms: a field with its label, hint and error, bound together for a screen reader. */
import type { ComponentChildren, JSX } from "preact"
import { useEffect, useId, useLayoutEffect, useRef } from "preact/hooks"

/** The attributes that a field passes to its control. */
export interface Control {
  readonly id: string
  readonly "aria-describedby": string | undefined
  readonly "aria-invalid": boolean
}

export const Field = ({
  label,
  hint,
  error,
  children,
}: {
  readonly label: string
  readonly hint?: ComponentChildren
  readonly error?: string | undefined
  readonly children: (control: Control) => ComponentChildren
}): JSX.Element => {
  const id = useId()
  const described = [...(hint === undefined ? [] : [`${id}-hint`]), ...(error === undefined ? [] : [`${id}-error`])]
  return (
    <div class="field">
      <label for={id}>{label}</label>
      {children({ id, "aria-describedby": described.join(" ") || undefined, "aria-invalid": error !== undefined })}
      {hint !== undefined && (
        <p id={`${id}-hint`} class="small">
          {hint}
        </p>
      )}
      {error !== undefined && (
        <p id={`${id}-error`} class="error">
          {error}
        </p>
      )}
    </div>
  )
}

/** A group of controls with one label. */
export const Group = ({
  label,
  error,
  children,
}: {
  readonly label: string
  readonly error?: string | undefined
  readonly children: ComponentChildren
}): JSX.Element => {
  const id = useId()
  return (
    <fieldset aria-describedby={error === undefined ? undefined : id} aria-invalid={error !== undefined}>
      <legend>{label}</legend>
      {children}
      {error !== undefined && (
        <p id={id} class="error">
          {error}
        </p>
      )}
    </fieldset>
  )
}

/** A radio button or checkbox with its explanation. */
export const Choice = ({
  label,
  hint,
  ...input
}: {
  readonly label: ComponentChildren
  readonly hint?: ComponentChildren
  readonly type: "radio" | "checkbox"
  readonly name?: string
  readonly checked: boolean
  readonly onChange: (event: { readonly currentTarget: HTMLInputElement }) => void
  readonly onKeyDown?: (event: KeyboardEvent) => void
}): JSX.Element => {
  const id = useId()
  return (
    <div class="choice">
      <input id={id} aria-describedby={hint === undefined ? undefined : `${id}-hint`} {...input} />
      <label for={id}>{label}</label>
      {hint !== undefined && (
        <p id={`${id}-hint`} class="small">
          {hint}
        </p>
      )}
    </div>
  )
}

/** A form that is handled in the page. When `errors` changes, focus moves to the first invalid field. */
export const Form = ({
  onSubmit,
  errors,
  start,
  children,
}: {
  readonly onSubmit: () => void
  readonly errors: object
  /** selector of the control with initial focus; left to the browser when absent */
  readonly start?: string
  readonly children: ComponentChildren
}): JSX.Element => {
  const form = useRef<HTMLFormElement>(null)
  // In the layout effect, so that no key press is lost. A dialog around the form is open by then.
  useLayoutEffect(() => {
    if (start !== undefined) form.current?.querySelector<HTMLElement>(start)?.focus()
  }, [])
  useEffect(() => {
    const first = form.current?.querySelector<HTMLElement>('[aria-invalid="true"]')
    const control = first?.matches("fieldset") === true ? first.querySelector<HTMLElement>("input") : first
    control?.focus()
  }, [errors])
  return (
    <form
      ref={form}
      noValidate
      onSubmit={(event) => {
        event.preventDefault()
        onSubmit()
      }}
    >
      {children}
    </form>
  )
}
