/** A few exclusive choices side by side. */
export function Choice<T extends string>(props: {
  label: string;
  name: string;
  /** What is off cannot be chosen now. */
  options: readonly { value: T; text: string; off?: boolean }[];
  value: T;
  onChoose: (value: T) => void;
}) {
  return (
    <fieldset class="choice">
      <legend class="unseen">{props.label}</legend>
      {props.options.map((option) => (
        <label key={option.value} class="choice-option">
          <input
            type="radio"
            name={props.name}
            value={option.value}
            checked={option.value === props.value}
            disabled={option.off === true}
            onChange={() => props.onChoose(option.value)}
          />
          <span>{option.text}</span>
        </label>
      ))}
    </fieldset>
  );
}
