/**
 * Form fields that the page places in the element. Their values are sent with the request, by name, as dynamic variables, or with
 * `data-to="metadata"` as metadata.
 */

type Field = HTMLInputElement | HTMLSelectElement | HTMLTextAreaElement

const fieldsIn = (element: Element): ReadonlyArray<Field> => [
  ...element.querySelectorAll<Field>("input[name], select[name], textarea[name]"),
]

/** The browser reports the first field that is not valid. */
export const areValid = (element: Element): boolean => fieldsIn(element).every((field) => field.reportValidity())

export const valuesOf = (element: Element, to: "variables" | "metadata"): Readonly<Record<string, string>> =>
  Object.fromEntries(
    fieldsIn(element)
      .filter((field) => (field.dataset.to === "metadata") === (to === "metadata"))
      .filter((field) => !field.disabled && (!("checked" in field) || !isChoice(field) || field.checked))
      .map((field) => [field.name, field.value]),
  )

const isChoice = ({ type }: Field): boolean => type === "checkbox" || type === "radio"
