/** A few exclusive choices side by side. */
export function Choice<T extends string>(props: {
  label: string;
  name: string;
  options: readonly { value: T; text: string }[];
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
            onChange={() => props.onChoose(option.value)}
          />
          <span>{option.text}</span>
        </label>
      ))}
    </fieldset>
  );
}
